"""`intake`: a finished delivery taken into the authority's store, whole or not at all."""

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cacheon.evidence.envelope import MOST
from cacheon.evidence.grade import Reason
from cacheon.evidence.intake import TakenIn, take_in
from cacheon.evidence.minimum import minima, raise_minimum
from cacheon.evidence.reopening import Blobs, claimed_delivery
from cacheon.evidence.running import SENT
from cacheon.evidence.store import DirectoryStore, StoreRefused
from cacheon.evidence.store.errors import StoreFailed
from cacheon.evidence.store.folder import Folder
from cacheon.records.digest import is_digest
from cacheon.records.errors import InputError, RecordRefused
from cacheon.records.strict import Record
from cacheon.workflows.naming import arena_version, requirement_named

_NOTHING = frozenset([errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG])


class DeliveryRefused(InputError):
    """Nothing of the delivery was kept. `code` is one of `evidence.reasons`."""

    def __init__(self, refusal: RecordRefused | StoreRefused) -> None:
        self.code = refusal.code
        super().__init__(
            file=f"refused {refusal.code}",
            place=refusal.file if refusal.place == refusal.code else refusal.place,
            expected=refusal.expected,
            got=refusal.got,
        )


class Taken(Record):
    """A delivery that counts from now on, by digest. `again`: it did before. `absent`: what
    of the requirement it shows nothing of."""

    requirement: str
    delivery: str
    observer: str
    observations: tuple[str, ...]
    again: bool
    absent: tuple[Reason, ...]


def intake(
    delivery: str,
    requirement: str,
    store: Path,
    source: Path | None = None,
    minimum: Sequence[str] = (),
) -> Taken:
    """Take a delivery for `requirement` into `store`, which is made where there is none.

    `delivery`: an observer's store that sent one for the requirement, a digest, or the file
    of an envelope. `requirement`: a digest in the store, or a file, which is published there
    first: the authority's own. `source`: the observer's store, or a directory of files named
    by digest; by default the directory of the delivery's file, and `store` itself for a
    digest. `minimum`: arenas, or NAME=VERSION: the oldest versions that count from now on,
    remembered in the store.

    Raises DeliveryRefused, InputError for what is no delivery's fault, StoreFailed."""
    with DirectoryStore.open(store, create=True) as kept:
        for text in minimum:
            raise_minimum(kept, *arena_version(text))
        wanted = requirement_named(kept, requirement)
        # Outside: a store that is damaged is no fault of the delivery's.
        oldest = minima(kept)
        if _is_store(Path(delivery)):
            delivery, source = _sent(Path(delivery), wanted), Path(delivery)
        with _source(delivery, source, kept) as blobs:
            try:
                return _taken(_take(kept, delivery, wanted, blobs, oldest))
            except (RecordRefused, StoreRefused) as refusal:
                raise DeliveryRefused(refusal) from refusal


def _take(
    store: DirectoryStore, delivery: str, wanted: str, blobs: Blobs, oldest: Mapping[str, int]
) -> TakenIn:
    data = blobs.get(delivery, MOST) if is_digest(delivery) else _file(Path(delivery))
    named = claimed_delivery(data, source="the delivery").requirement
    if named != wanted:
        raise RecordRefused("other-requirement", expected=wanted, got=named)
    return take_in(store, data, blobs, minimum=oldest)


def _file(path: Path) -> bytes:
    """What somebody sent: no link, no FIFO, and no more of it than an envelope can have."""
    with Folder(path.parent) as folder:
        return folder.file(path.name, MOST)


def _is_store(path: Path) -> bool:
    """Whether a store lies there. Raises StoreFailed where the file system cannot tell."""
    try:
        os.stat(path / "format")
    except OSError as error:
        if error.errno not in _NOTHING:
            raise StoreFailed(error, str(path)) from error
        return False
    except ValueError:  # a path with a NUL in it
        return False
    return True


def _sent(store: Path, requirement: str) -> str:
    """The delivery that an observer's store sent for a requirement. Raises InputError."""
    with DirectoryStore.open(store) as opened:
        names = [name for name in opened.names(SENT) if name.startswith(f"{requirement}-")]
        sent = [digest for name in names if (digest := opened.pointer(SENT, name))]
    if len(sent) != 1:
        expected = f"one delivery for {requirement}"
        raise InputError(file=str(store), expected=expected, got=f"{len(sent)}" if sent else "none")
    return sent[0]


def _taken(found: TakenIn) -> Taken:
    return Taken(**found._asdict())


@contextlib.contextmanager
def _source(delivery: str, source: Path | None, store: DirectoryStore) -> Iterator[Blobs]:
    """Where the delivery's records are read from; nothing there is trusted."""
    if source is None and is_digest(delivery):
        yield store
        return
    place = source or Path(delivery).parent
    if _is_store(place):
        with DirectoryStore.open(place) as opened:
            yield opened
    else:
        with Folder(place) as folder:
            yield folder
