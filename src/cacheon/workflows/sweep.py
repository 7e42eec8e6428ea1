"""`sweep`: remove what interrupted publishers left."""

import re
from pathlib import Path

from cacheon.evidence.references import references
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.sweep import Swept, sweep
from cacheon.records.errors import InputError

_AGE = re.compile(r"\A([0-9]{1,9})([smhd]?)\Z")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def sweep_store(store: Path, older_than: str, *, dry_run: bool = False) -> Swept:
    """Remove leftovers and unreached records that are older than `older_than`: a whole
    number and s, m, h or d. With `dry_run` they are only told. Raises InputError, also
    where something reached is damaged: then nothing is removed."""
    found = _AGE.match(older_than)
    if not found:
        raise InputError(
            place="--older-than",
            expected="a whole number and s, m, h or d",
            got=ascii(older_than)[:80],
        )
    seconds = int(found[1]) * _SECONDS[found[2]]
    with DirectoryStore.open(store) as opened:
        return sweep(opened, references, older_than=seconds, dry_run=dry_run)
