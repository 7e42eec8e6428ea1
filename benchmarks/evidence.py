"""What evidence costs: publishing and reopening records, with and without fsync, in records
per second. `python benchmarks/evidence.py [--records N] [--directory DIR]`.

The figures are of the disk below DIR (the working directory, unless another is named): a
memory file system syncs for nothing.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from cacheon.evidence.envelope import Pin, open_envelope, seal
from cacheon.evidence.keys import Key
from cacheon.evidence.log import Log
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.fsck import fsck
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256

RECORD_BYTES = 2000
TYPE = "application/vnd.cacheon.benchmark+json"


def records(count: int) -> list[bytes]:
    """Canonical records of about the size of an observation, no two alike."""
    return [
        encode({"number": number, "padding": "x" * (RECORD_BYTES - 40)}) for number in range(count)
    ]


def timed(what: str, count: int, work: Callable[[], object], unit: str = "records/s") -> float:
    """Print how often per second; that figure."""
    started = time.perf_counter()
    work()
    rate = count / (time.perf_counter() - started)
    print(f"{what:<44} {rate:>10,.0f} {unit}", flush=True)
    return rate


def storing(directory: Path, count: int) -> None:
    """Publishing, publishing again, reopening, checking."""
    data = records(count)
    digests = [sha256(record) for record in data]
    for fsync in (True, False):
        said = "with fsync" if fsync else "without fsync"
        root = directory / ("synced" if fsync else "quick")
        with DirectoryStore.open(root, create=True, fsync=fsync) as store:
            timed(f"publish, {said}", count, lambda: [store.put(record) for record in data])
            timed(f"publish again, {said}", count, lambda: [store.put(record) for record in data])
            timed(
                f"point, {said}",
                count,
                lambda: [store.link("grades", digest, digest) for digest in digests],
            )
    with DirectoryStore.open(directory / "synced") as store:
        timed("reopen", count, lambda: [store.get(digest) for digest in digests])
        timed("fsck", count, lambda: fsck(store, lambda data: ()))


def signing(count: int) -> None:
    """Signing and opening a small envelope for one pinned key."""
    key = Key(bytes(32))
    pins = [Pin(key=key.public, role="observer")]
    sealed = seal(b"{}", TYPE, [key])
    timed("sign", count, lambda: [seal(b"{}", TYPE, [key]) for _ in range(count)], "envelopes/s")
    timed(
        "verify",
        count,
        lambda: [open_envelope(sealed, TYPE, pins, role="observer") for _ in range(count)],
        "envelopes/s",
    )


def logging(directory: Path, count: int) -> None:
    """Appending to a log, and checking it against its checkpoint."""
    key = Key(bytes(32))
    pins = [Pin(key=key.public, role="log")]
    digests = [sha256(b"%d" % number) for number in range(count)]
    for fsync in (True, False):
        said = "with fsync" if fsync else "without fsync"
        root = directory / ("log" if fsync else "quick-log")
        with Log(root, origin="example.org/log", create=True, fsync=fsync) as log:
            timed(
                f"log, {said}",
                count,
                lambda: [log.append("grade", digest) for digest in digests],
                "entries/s",
            )
            log.checkpoint(key)
            timed(f"check the log, {said}", count, partial(log.check, pins), "entries/s")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--directory", type=Path, default=Path())
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        storing(Path(directory), given.records)
        logging(Path(directory), given.records)
    signing(min(given.records, 2000))


if __name__ == "__main__":
    main()
