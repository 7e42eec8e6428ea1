"""`fsck`: whether everything in a store is what it was published as."""

from pathlib import Path

from cacheon.evidence.references import references
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.fsck import Health, fsck


def check_store(store: Path) -> Health:
    """Every file looked at, every blob hashed again, every pointer followed; nothing is
    changed. Raises InputError where no store lies there, InfrastructureError where it cannot
    be read."""
    with DirectoryStore.open(store) as opened:
        return fsck(opened, references)
