"""What lies at a path: a bundle, a file of one, or any other Python."""

import os
from collections.abc import Sequence
from pathlib import Path

from cacheon.bundle import open_bundle
from cacheon.bundle.manifest import MANIFEST
from cacheon.bundle.tree import special
from cacheon.records.errors import CacheonError, InputError, LimitExceeded, one_line
from cacheon.scan.bundles import scan_bundle
from cacheon.scan.findings import ScanReport
from cacheon.scan.libraries import walked
from cacheon.scan.parse import MOST_BYTES, uncollected
from cacheon.scan.project import Module
from cacheon.scan.scanning import too_long
from cacheon.scan.source import check_source
from cacheon.scan.sources import module_of

MOST_FILES = 20_000
_MARK = b"abi_version"


def scan_path(path: Path) -> tuple[ScanReport, ...]:
    """The reports of one path: of a bundle; of a file of a bundle, which is read as part
    of it; or of any other Python file or directory, and of each bundle within it.

    Raises nothing for what cannot be read: its report says so."""
    try:
        if not path.exists():
            raise InputError(file=str(path), expected="a file or a directory", got="nothing")
        around = bundle_of(path)
        if around is not None:
            return (_bundle(path, around),)
        inner, names = _inside(path)
        if not inner and not names:
            raise InputError(file=str(path), expected="Python sources", got="none")
    except (CacheonError, OSError) as error:
        return (_unusable(path, error),)
    reports = [report for bundle in inner for report in scan_path(bundle)]
    return (*reports, _sources(path, names)) if names else tuple(reports)


def _unusable(path: Path, error: CacheonError | OSError) -> ScanReport:
    message = str(error) if isinstance(error, CacheonError) else f"{path}: {error.strerror}"
    return ScanReport(path=str(path), kind="unusable", files=0, unusable=(one_line(message),))


def bundle_of(path: Path) -> Path | None:
    """The bundle that a path is, or lies in."""
    resolved = Path(os.path.abspath(path))
    for directory in (resolved, *resolved.parents):
        if _is_bundle(directory):
            return directory
    return None


def _is_bundle(directory: Path) -> bool:
    manifest = directory / MANIFEST
    return manifest.is_file() and _MARK in _read(manifest)


def _bundle(path: Path, root: Path) -> ScanReport:
    bundle = open_bundle(root)
    # Without what its rows declare, nothing would be walked and so nothing found.
    check_source(bundle)
    findings = scan_bundle(bundle)
    inside = os.path.relpath(os.path.abspath(path), root)
    if inside != ".":
        findings = tuple(f for f in findings if f.file == inside or f.file.startswith(f"{inside}/"))
    files = sum(entry.path.endswith(".py") for entry in bundle.files)
    return ScanReport(
        path=str(path), root=_shown(root), kind="bundle", files=files, findings=findings
    )


def _shown(root: Path) -> str:
    """A directory from here, where that is shorter to say."""
    near = os.path.relpath(root)
    return str(root) if near.startswith("..") else near


@uncollected()
def _sources(path: Path, names: Sequence[str]) -> ScanReport:
    root = path if path.is_dir() else path.parent
    modules: list[Module] = []
    unusable: list[str] = []
    prefix = _package_of(root)
    for name in names:
        try:
            data = _read(root / name)
            modules.append(module_of(data, name, str(root / name), prefix))
        except CacheonError as error:
            unusable.append(error.message)
    scan = walked(modules)
    unusable += [too_long(str(root / name)).message for name in sorted(scan.exhausted)]
    return ScanReport(
        path=str(path),
        root=str(root),
        kind="source",
        files=len(modules),
        findings=scan.findings(),
        unusable=tuple(unusable),
    )


def _read(file: Path) -> bytes:
    """The bytes of a file, through links too; a FIFO or a device is not waited for."""
    try:
        _refuse_special(file, os.stat(file))
        with open(file, "rb", opener=_at_once) as opened:
            _refuse_special(file, os.fstat(opened.fileno()))
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "an error"
        raise InputError(file=str(file), expected="a readable file", got=reason) from error


def _at_once(file: str, flags: int) -> int:
    return os.open(file, flags | os.O_NONBLOCK)


def _refuse_special(file: Path, info: os.stat_result) -> None:
    kind = special(info)
    if kind:
        raise InputError(file=str(file), expected="a regular file", got=kind)


def _package_of(directory: Path) -> str:
    """The dotted name of a directory that is a package, or lies in one."""
    parts: list[str] = []
    directory = directory.resolve()
    while (directory / "__init__.py").is_file():
        parts.insert(0, directory.name)
        directory = directory.parent
    return ".".join(parts)


def _inside(path: Path) -> tuple[list[Path], list[str]]:
    """The bundles below a directory, and its other Python files, relative to it; hidden
    directories and caches are left out."""
    if not path.is_dir():
        _refuse_special(path, path.stat())
        return [], [path.name]
    bundles: list[Path] = []
    names: list[str] = []
    for directory, inner, files in os.walk(path):
        here = Path(directory)
        inner[:] = sorted(d for d in inner if not d.startswith(".") and d != "__pycache__")
        bundles += [here / name for name in inner if _is_bundle(here / name)]
        inner[:] = [name for name in inner if here / name not in bundles]
        names += [str((here / f).relative_to(path)) for f in sorted(files) if f.endswith(".py")]
        if len(names) > MOST_FILES:
            raise LimitExceeded(
                file=str(path), expected=f"at most {MOST_FILES} sources", got="more"
            )
    return bundles, names
