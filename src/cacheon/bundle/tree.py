"""The tree of a bundle: which files it holds, and the digest that names them all."""

import os
import stat
from pathlib import Path

import msgspec

from cacheon.bundle.model import FileEntry
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256
from cacheon.records.errors import InputError, LimitExceeded

MOST_FILES = 512
MOST_BYTES = 32 << 20
"""Bytes of one file, and of all of them together."""
DEEPEST = 8
_COMPILED = {
    ".so",
    ".o",
    ".a",
    ".dll",
    ".dylib",
    ".pyd",
    ".pyc",
    ".pyo",
    ".cubin",
    ".fatbin",
    ".ptx",
    ".exe",
    ".bin",
    ".whl",
    ".egg",
}
_CACHES = {"__pycache__", ".git", ".triton", "node_modules", ".pytest_cache", ".mypy_cache"}


def read_tree(root: Path) -> tuple[tuple[FileEntry, ...], str]:
    """Every file of the tree, sorted by path, and the tree's digest.

    Raises InputError for a link, a device, a second hard link, a compiled object or a
    cache; LimitExceeded for more than anybody needs."""
    entries: list[FileEntry] = []
    total = 0
    for path, info in _walk(root, root, 0):
        name = path.relative_to(root).as_posix()
        total += info.st_size
        if len(entries) >= MOST_FILES:
            raise LimitExceeded(file=str(root), expected=f"at most {MOST_FILES} files", got="more")
        if total > MOST_BYTES:
            raise LimitExceeded(
                file=str(root), expected=f"at most {MOST_BYTES} bytes in all", got="more"
            )
        data = read_file(root, name)
        entries.append(
            FileEntry(
                path=name,
                size=len(data),
                digest=sha256(data),
                executable=bool(info.st_mode & 0o111),
            )
        )
    entries.sort(key=lambda entry: entry.path)
    return tuple(entries), sha256(encode(msgspec.to_builtins(entries)))


def _walk(root: Path, directory: Path, depth: int) -> list[tuple[Path, os.stat_result]]:
    if depth > DEEPEST:
        raise LimitExceeded(
            file=str(directory), expected=f"directories at most {DEEPEST} deep", got="deeper"
        )
    found: list[tuple[Path, os.stat_result]] = []
    with os.scandir(directory) as scan:
        children = sorted(scan, key=lambda child: child.name)
    for child in children:
        path = Path(child.path)
        where = path.relative_to(root).as_posix()
        if not child.name.isascii() or not child.name.isprintable():
            raise InputError(
                file=str(root), place=where, expected="a plain file name", got="another"
            )
        info = child.stat(follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            if child.name in _CACHES:
                raise InputError(
                    file=str(root), place=where, expected="no caches in a bundle", got=child.name
                )
            found += _walk(root, path, depth + 1)
            continue
        refuse_special(info, str(root), where)
        if path.suffix.lower() in _COMPILED:
            raise InputError(
                file=str(root), place=where, expected="no compiled objects", got=path.suffix
            )
        found.append((path, info))
    return found


def refuse_special(info: os.stat_result, file: str, place: str) -> None:
    """Raises InputError for whatever is not one regular file under one name."""
    kinds = (
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISDIR, "a directory"),
    )
    for test, name in kinds:
        if test(info.st_mode):
            raise InputError(file=file, place=place, expected="a regular file", got=name)
    if info.st_nlink != 1:
        raise InputError(
            file=file, place=place, expected="a file of one name", got=f"{info.st_nlink} hard links"
        )


def read_file(root: Path, name: str) -> bytes:
    """The bytes of a file of the tree, read once; never through a link."""
    path = root / name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        reason = error.strerror or "cannot be opened"
        raise InputError(
            file=str(root), place=name, expected="a readable file", got=reason
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        refuse_special(os.fstat(descriptor), str(root), name)
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise LimitExceeded(
            file=str(root), place=name, expected=f"at most {MOST_BYTES} bytes", got="more"
        )
    return data
