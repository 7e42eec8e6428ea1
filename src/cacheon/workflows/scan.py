"""`scan`: sources in, findings out. Nothing of theirs is imported or run."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cacheon.bundle import open_bundle
from cacheon.bundle.manifest import MANIFEST
from cacheon.records.errors import CacheonError, InputError, LimitExceeded
from cacheon.scan.bundles import scan_bundle
from cacheon.scan.findings import ScanReport
from cacheon.scan.libraries import scan_sources
from cacheon.scan.parse import MOST_BYTES
from cacheon.scan.project import Module
from cacheon.scan.sources import module_of

MOST_FILES = 20_000
_MARK = b"abi_version"


def scan(paths: Sequence[Path]) -> tuple[ScanReport, ...]:
    """A report for each bundle, package or file. One that cannot be read does not stop
    the others: its report says so."""
    return tuple(map(scan_path, paths))


def scan_path(path: Path) -> ScanReport:
    """The report of one path: a bundle; a file of a bundle, which is read as part of it;
    or any other Python file or directory of such."""
    try:
        if not path.exists():
            raise InputError(file=str(path), expected="a file or a directory", got="nothing")
        bundle = bundle_of(path)
        if bundle is not None:
            return _bundle(path, bundle)
        return _sources(path)
    except CacheonError as error:
        return ScanReport(path=str(path), kind="unusable", files=0, unusable=(error.message,))


def bundle_of(path: Path) -> Path | None:
    """The bundle that a path is, or lies in."""
    resolved = Path(os.path.abspath(path))
    for directory in (resolved, *resolved.parents):
        manifest = directory / MANIFEST
        if manifest.is_file() and _MARK in manifest.read_bytes()[:MOST_BYTES]:
            return directory
    return None


def _bundle(path: Path, root: Path) -> ScanReport:
    bundle = open_bundle(root)
    findings = scan_bundle(bundle)
    inside = os.path.relpath(os.path.abspath(path), root)
    if inside != ".":
        findings = tuple(f for f in findings if f.file == inside or f.file.startswith(f"{inside}/"))
    files = sum(entry.path.endswith(".py") for entry in bundle.files)
    return ScanReport(path=str(path), kind="bundle", files=files, findings=findings)


def _sources(path: Path) -> ScanReport:
    root = path if path.is_dir() else path.parent
    modules: list[Module] = []
    unusable: list[str] = []
    prefix = _package_of(root)
    for name in _names(path):
        try:
            data = _read(root / name)
            modules.append(module_of(data, name, str(root / name), prefix))
        except CacheonError as error:
            unusable.append(error.message)
    return ScanReport(
        path=str(path),
        kind="source",
        files=len(modules),
        findings=scan_sources(modules),
        unusable=tuple(unusable),
    )


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "an error"
        raise InputError(file=str(file), expected="a readable file", got=reason) from error


def _package_of(directory: Path) -> str:
    """The dotted name of a directory that is a package, or lies in one."""
    parts: list[str] = []
    directory = directory.resolve()
    while (directory / "__init__.py").is_file():
        parts.insert(0, directory.name)
        directory = directory.parent
    return ".".join(parts)


def _names(path: Path) -> Iterator[str]:
    """Python files, relative to the directory; hidden ones and caches are left out."""
    if not path.is_dir():
        yield path.name
        return
    found = 0
    for directory, inner, files in os.walk(path):
        inner[:] = sorted(d for d in inner if not d.startswith(".") and d != "__pycache__")
        for file in sorted(files):
            if file.endswith(".py"):
                found += 1
                if found > MOST_FILES:
                    raise LimitExceeded(
                        file=str(path), expected=f"at most {MOST_FILES} sources", got="more"
                    )
                yield os.path.relpath(os.path.join(directory, file), path)
