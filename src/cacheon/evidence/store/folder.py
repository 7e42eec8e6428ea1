"""Records as files in a directory that is no store: what somebody was sent."""

from pathlib import Path

from cacheon.evidence.closing import Closing
from cacheon.evidence.store.errors import StoreRefused, failing
from cacheon.evidence.store.files import read_file
from cacheon.evidence.store.limits import LIMITS
from cacheon.evidence.store.rooms import Rooms
from cacheon.records.digest import is_digest, sha256

_SUFFIX = ".json"


class Folder(Closing):
    """Files named by a digest, with or without `.json`; anything else in it is left alone.
    Close it, or use it in a `with`.

    As wary as a store: no link is followed, a file is read once and hashed."""

    def __init__(self, path: Path) -> None:
        """Refused with `not-a-store` where there is no directory; raises StoreFailed."""
        with failing(path):
            self._rooms = Rooms(path, fsync=False)

    def close(self) -> None:
        self._rooms.close()

    def get(self, digest: str, limit: int | None = None) -> bytes:
        """`port.Store.get`."""
        if not is_digest(digest):
            raise self._refused("not-a-digest", "", "64 lower-case hex", ascii(digest)[:80])
        most = LIMITS.record_bytes if limit is None else limit
        try:
            data = self.file(digest, most)
        except StoreRefused as refusal:
            if refusal.code != "missing":
                raise
            data = self.file(digest + _SUFFIX, most)
        if sha256(data) != digest:
            raise self._refused("corrupt", digest, "the bytes of this digest", "others")
        return data

    def file(self, name: str, limit: int) -> bytes:
        """At most `limit` bytes of a file by its name in the directory, whatever they are.
        Refused with `missing`, `too-large`, `not-a-file`, `hard-link`."""
        with failing(self._rooms.root):
            return read_file(self._rooms, "", name, limit)

    def _refused(self, code: str, place: str, expected: str, got: str) -> StoreRefused:
        return StoreRefused(
            code, file=str(self._rooms.root), place=place, expected=expected, got=got
        )
