"""Bundles on their way in: read, checked, copied, and their rows chosen. All of it paper."""

import contextlib
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cacheon.bundle import Bundle, Variant, open_bundle, take_snapshot
from cacheon.bundle.tree import read_file
from cacheon.engine.removing import remove
from cacheon.records.errors import CacheonError, InputError
from cacheon.records.strict import Record
from cacheon.scan.bundles import scan_bundle
from cacheon.scan.findings import ScanFinding
from cacheon.scan.source import check_source
from cacheon.workflows.options import Options
from cacheon.workflows.selection import select


class Opened(Record):
    """A usable bundle: the rows to examine, a line for each other, and what its source says
    before it is loaded. `snapshots`: the directory in which its private copy comes to lie."""

    path: Path
    bundle: Bundle
    snapshots: Path
    chosen: tuple[Variant, ...]
    not_selected: tuple[str, ...]
    scanned: tuple[ScanFinding, ...] = ()


class Unusable(Record):
    """A bundle that cannot be examined, and what a person is told."""

    path: Path
    message: str
    exit_code: int


class Opening(list[Opened | Unusable]):
    """The bundles of one command, and the directory of their snapshots."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.directory = directory

    def may_compile(self) -> bool:
        """Whether a source names Triton, or what compiles with it."""
        return any(
            word in text
            for opened in self
            if isinstance(opened, Opened)
            for text in _sources(opened.bundle)
            for word in (b"triton", b"compile")
        )


@contextmanager
def opened(paths: Sequence[Path], options: Options) -> Iterator[Opening]:
    """Open bundles; their snapshots are gone on leaving. One that is unusable does not
    stop the others, and nothing is raised for it."""
    # Named before it is made: whatever interrupts this, it is removed.
    name = f"cacheon-snapshots-{secrets.token_hex(8)}"
    bundles = Opening(Path(tempfile.gettempdir()) / name)
    try:
        bundles.directory.mkdir(mode=0o700)
        for path in paths:
            bundles.append(_open(path, bundles.directory, options))
        yield bundles
    finally:
        remove(bundles.directory)


def _sources(bundle: Bundle) -> Iterator[bytes]:
    for file in bundle.files:
        if file.path.endswith(".py"):
            # One that has changed since is refused when the snapshot is taken.
            with contextlib.suppress(InputError):
                yield read_file(Path(bundle.path), file.path)


def copied(candidate: Opened) -> Path:
    """The private copy of exactly the digested bytes, made now: just before it is examined,
    when no other candidate of the command runs that could have changed it. Raises InputError
    where the bundle is not what it was when it was opened, InfrastructureError where there is
    no place for it.

    A candidate before it could write to the directory: it gets a name that nobody knew, and what
    keeps the directory from being one goes."""
    top = candidate.snapshots
    # What cannot be put right is met as the copy is made.
    with contextlib.suppress(OSError):
        if top.is_symlink() or not top.is_dir():
            remove(top)
        top.mkdir(mode=0o700, exist_ok=True)
        top.chmod(0o700)
    return take_snapshot(candidate.bundle, top / secrets.token_hex(8))


def _open(path: Path, directory: Path, options: Options) -> Opened | Unusable:
    try:
        bundle = open_bundle(path)
        check_source(bundle)
        scanned = scan_bundle(bundle)
        chosen, left = select(bundle, options)
    except CacheonError as error:
        return Unusable(path=path, message=error.message, exit_code=error.exit_code)
    return Opened(
        path=path,
        bundle=bundle,
        snapshots=directory,
        chosen=tuple(chosen),
        not_selected=tuple(left),
        scanned=scanned,
    )
