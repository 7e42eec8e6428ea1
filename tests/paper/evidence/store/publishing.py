"""One publish, whole: a store is made, two records, a list that names them, its pointer,
an entry of the log and a checkpoint. Run as a script it is what the crash tests kill.

    python publishing.py DIR    says "ready", waits for a byte, publishes; exits with 3
                                where the file system failed
"""

import os
import sys
from pathlib import Path

# Whatever is loaded late is loaded now: only the publish itself is to be disturbed.
import nacl.signing  # noqa: F401

from cacheon.evidence.keys import Key
from cacheon.evidence.log import Log
from cacheon.evidence.store import DirectoryStore
from cacheon.records.digest import sha256
from cacheon.records.errors import InfrastructureError

KEY = Key(bytes(32))
ORIGIN = "example.org/log"
RECORDS = (b'{"one":1}', b'{"two":2}')
LIST = b'{"list":["%s","%s"]}' % tuple(sha256(record).encode() for record in RECORDS)
MARK = "/nothing-lies-here-the-publish-begins"


def references(data: bytes) -> list[str]:
    """The digests that LIST names."""
    return [digest for digest in map(sha256, RECORDS) if digest.encode() in data]


def publish(root: Path) -> None:
    """Publish everything below `root`, or what is not there yet."""
    with DirectoryStore.open(root, create=True) as store:
        for record in RECORDS:
            store.put(record)
        digest = store.put(LIST)
        store.link("deliveries", digest, digest)
        with Log(root / "log", origin=ORIGIN, create=True) as log:
            log.append("grade", digest)
            log.checkpoint(KEY)


if __name__ == "__main__":
    # Everything is loaded: whoever wants to watch attaches now, then says so.
    print("ready", flush=True)
    os.read(0, 1)
    os.access(MARK, os.F_OK)
    try:
        publish(Path(sys.argv[1]))
    except InfrastructureError as error:
        print(error)
        sys.exit(3)
