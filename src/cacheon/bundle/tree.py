"""The tree of a bundle: which files it holds, and the digest that names them all."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

import cacheon
from cacheon.bundle.model import FileEntry
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256
from cacheon.records.errors import InputError, LimitExceeded

MOST_FILES = 2048
"""Files and directories of one tree."""
MOST_BYTES = 32 << 20
"""Bytes of one file, and of all of them together."""
DEEPEST = 8
_COMPILED = frozenset(
    [
        ".so",
        ".o",
        ".a",
        ".obj",
        ".lib",
        ".ko",
        ".dll",
        ".dylib",
        ".pyd",
        ".pyc",
        ".pyo",
        ".cubin",
        ".fatbin",
        ".ptx",
        ".hsaco",
        ".exe",
        ".bin",
        ".whl",
        ".egg",
        ".class",
        ".jar",
        ".wasm",
    ]
)
_CACHES = frozenset(
    [
        "__pycache__",
        ".git",
        ".hg",
        ".svn",
        ".triton",
        ".cache",
        ".venv",
        "node_modules",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".ipynb_checkpoints",
    ]
)
_MAGIC = {
    b"\x7fELF": "an ELF object",
    b"MZ\x90\x00": "a Windows executable",
    b"!<arch>\n": "a library archive",
    b"\xcf\xfa\xed\xfe": "a Mach-O object",
    b"\xca\xfe\xba\xbe": "a Mach-O or Java object",
    b"\x50\xed\x55\xba": "a CUDA fat binary",
    b"BC\xc0\xde": "LLVM bitcode",
    b"\x00asm": "WebAssembly",
    b"PK\x03\x04": "an archive",
}
"""How compiled objects begin, whatever they are called."""
_SPECIAL = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a directory"),
)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_tree(root: Path) -> tuple[tuple[FileEntry, ...], str]:
    """Every file of the tree, sorted by path, and the tree's digest: SHA-256 over the
    canonical list of path, size, digest and executable bit.

    Raises InputError for a link, a device, a second hard link, a compiled object or a
    cache; LimitExceeded for more than anybody needs; OSError for a directory that cannot
    be read."""
    entries: list[FileEntry] = []
    total = 0
    for name in _names(root):
        data, executable = _read(root, name)
        total += len(data)
        if total > MOST_BYTES:
            raise LimitExceeded(
                file=str(root), expected=f"at most {MOST_BYTES} bytes in all", got="more"
            )
        for magic, what in _MAGIC.items():
            if data.startswith(magic):
                raise InputError(
                    file=str(root), place=name, expected="no compiled objects", got=what
                )
        entries.append(
            FileEntry(path=name, size=len(data), digest=sha256(data), executable=executable)
        )
    entries.sort(key=lambda entry: entry.path)
    return tuple(entries), sha256(encode(msgspec.to_builtins(entries)))


def read_file(root: Path, name: str) -> bytes:
    """The bytes of a file of the tree, read once; never through a link."""
    return _read(root, name)[0]


def special(info: os.stat_result) -> str:
    """What a file is that is no regular one, as "a FIFO"; "" for one that is."""
    return next((what for test, what in _SPECIAL if test(info.st_mode)), "")


def is_shipped(root: Path) -> bool:
    """Whether a bundle is one of this package's own examples. Installers byte-compile
    these and may link them to a cache of theirs, which is no fault of the bundle's."""
    return root.resolve().is_relative_to(Path(cacheon.__file__).resolve().parent / "examples")


def _names(root: Path) -> Iterator[str]:
    """Bundle-relative paths of everything that is no directory, checked by name."""
    shipped = is_shipped(root)
    waiting = [""]
    seen = 0
    while waiting:
        directory = waiting.pop()
        with os.scandir(root / directory) as children:
            for child in children:
                seen += 1
                if seen > MOST_FILES:
                    raise LimitExceeded(
                        file=str(root), expected=f"at most {MOST_FILES} files", got="more"
                    )
                name = f"{directory}/{child.name}" if directory else child.name
                if not child.is_dir(follow_symlinks=False):
                    _check_name(root, name)
                    yield name
                elif not (shipped and child.name == "__pycache__"):
                    _check_directory(root, name)
                    waiting.append(name)


def _check_name(root: Path, name: str) -> None:
    if not name.isascii() or not name.isprintable() or "\\" in name:
        raise InputError(
            file=str(root), place=name, expected="a printable ASCII file name", got="another"
        )
    suffix = os.path.splitext(name)[1].lower()
    if suffix in _COMPILED:
        raise InputError(file=str(root), place=name, expected="no compiled objects", got=suffix)


def _check_directory(root: Path, name: str) -> None:
    _check_name(root, name)
    last = name.rpartition("/")[2]
    if last in _CACHES:
        raise InputError(
            file=str(root), place=name, expected="no caches or version control", got=last
        )
    if name.count("/") >= DEEPEST:
        raise LimitExceeded(
            file=str(root), place=name, expected=f"at most {DEEPEST} directories deep", got="more"
        )


def _read(root: Path, name: str) -> tuple[bytes, bool]:
    """The bytes of a file, and whether it is executable. Every component is opened in the
    one before and none through a link, so that a swapped directory leads nowhere else."""
    opened: list[int] = []
    try:
        *directories, last = name.split("/")
        opened.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        for part in directories:
            opened.append(os.open(part, _READ | os.O_DIRECTORY, dir_fd=opened[-1]))
        info = os.stat(last, dir_fd=opened[-1], follow_symlinks=False)
        _refuse_special(root, name, info)
        opened.append(os.open(last, _READ, dir_fd=opened[-1]))
        info = os.fstat(opened[-1])
        _refuse_special(root, name, info)
        with os.fdopen(opened.pop(), "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            file=str(root),
            place=name,
            expected="a readable file",
            got=error.strerror or "one that cannot be read",
        ) from error
    finally:
        for descriptor in opened:
            os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise LimitExceeded(
            file=str(root), place=name, expected=f"at most {MOST_BYTES} bytes", got="more"
        )
    return data, bool(info.st_mode & 0o111)


def _refuse_special(root: Path, name: str, info: os.stat_result) -> None:
    """Raises InputError for whatever is not one regular file under one name."""
    kind = special(info)
    if kind:
        raise InputError(file=str(root), place=name, expected="a regular file", got=kind)
    if info.st_nlink != 1 and not is_shipped(root):
        raise InputError(
            file=str(root),
            place=name,
            expected="a file under one name",
            got=f"one with {info.st_nlink} hard links",
        )
