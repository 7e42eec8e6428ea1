"""`fsck`: whether everything in a store is what it was published as."""

from pathlib import Path

from cacheon.evidence.references import references
from cacheon.evidence.store.fsck import Health, fsck_directory


def check_store(store: Path) -> Health:
    """Every file looked at, every blob hashed again, every pointer followed; nothing is
    changed. A store whose making was interrupted holds nothing, and is sound. Raises
    InputError where no store lies there, InfrastructureError where it cannot
    be read."""
    return fsck_directory(store, references)
