"""The tree of a bundle: identity, hostile entries, and the private snapshot."""

import os
import socket
import stat
from pathlib import Path

import msgspec
import pytest

import cacheon
from cacheon.bundle import open_bundle, take_snapshot
from cacheon.bundle import tree as trees
from cacheon.bundle.tree import read_file
from cacheon.records.errors import InfrastructureError, InputError, LimitExceeded

MANIFEST = """
bundle_id = "b"
abi_version = "cacheon-op-abi-v0"
[[ops]]
slot = "norm.rmsnorm"
source = "kernels/k.py"
entry = "f"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "bundle")


def write(root: Path) -> Path:
    (root / "kernels").mkdir(parents=True)
    (root / "kernels" / "k.py").write_text("def f(x, weight, out, eps): pass\n")
    (root / "README.md").write_text("a bundle\n")
    (root / "manifest.toml").write_text(MANIFEST)
    return root


def refused(root: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_bundle(root)
    line = str(caught.value)
    assert line.isprintable()
    return line.removeprefix(f"{root}: ")


def test_the_digest_names_paths_contents_and_executable_bits(root: Path, tmp_path: Path) -> None:
    digest = open_bundle(root).digest
    assert open_bundle(write(tmp_path / "copy")).digest == digest
    seen = {digest}
    (root / "README.md").write_text("a bundle!\n")
    seen.add(open_bundle(root).digest)
    (root / "README.md").rename(root / "README")
    seen.add(open_bundle(root).digest)
    (root / "kernels" / "k.py").chmod(0o755)
    seen.add(open_bundle(root).digest)
    (root / "empty").write_text("")
    seen.add(open_bundle(root).digest)
    assert len(seen) == 5


def test_the_digest_of_a_tree_never_changes_its_meaning(root: Path) -> None:
    bundle = open_bundle(root)
    assert [entry.path for entry in bundle.files] == ["README.md", "kernels/k.py", "manifest.toml"]
    assert bundle.digest == "5a7af95d93a25def7b901e9f15a34b287eb7e7dd68c61fca05a1dd0a539d0881"


def test_what_is_no_directory_is_no_bundle(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert refused(tmp_path / "link") == "expected a bundle directory, got a link"
    assert refused(root / "manifest.toml") == "expected a bundle directory, got something else"
    assert refused(tmp_path / "no").endswith("got No such file or directory")
    assert refused(tmp_path / ("x" * 300)).endswith("got File name too long")
    assert "expected a readable bundle directory, got no path" in refused(Path("a\0b"))


def test_a_bundle_without_a_manifest(tmp_path: Path) -> None:
    assert refused(tmp_path).endswith("manifest.toml: expected a manifest, got nothing")


def test_links_are_refused_wherever_they_lead(root: Path) -> None:
    link = root / "kernels" / "l.py"
    for target in ("k.py", "/etc/passwd", "nowhere", "..", "l.py"):
        link.symlink_to(target)
        assert refused(root) == "kernels/l.py: expected a regular file, got a link"
        link.unlink()


def test_special_files_are_refused_unread(root: Path) -> None:
    os.mkfifo(root / "fifo")
    assert refused(root) == "fifo: expected a regular file, got a FIFO"
    (root / "fifo").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(root)  # A socket's path may be no longer than 108 bytes.
        try:
            server.bind("sock")
        finally:
            os.chdir(here)
    assert refused(root) == "sock: expected a regular file, got a socket"


@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFBLK])
def test_devices_are_refused(root: Path, kind: int) -> None:
    try:
        os.mknod(root / "null", kind | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("making a device needs privileges")
    assert refused(root) == "null: expected a regular file, got a device"


def test_hard_links_are_refused(root: Path) -> None:
    os.link(root / "README.md", root / "README")
    assert refused(root).endswith("expected a file under one name, got one with 2 hard links")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("kernels/k.so", "kernels/k.so: expected no compiled objects, got .so"),
        ("k.CUBIN", "k.CUBIN: expected no compiled objects, got .cubin"),
        ("__pycache__/k.txt", "__pycache__: expected no caches or version control"),
        (".git/HEAD", ".git: expected no caches or version control, got .git"),
        ("a/.triton/x", "a/.triton: expected no caches or version control, got .triton"),
        ("käse.py", "käse.py: expected a printable ASCII file name, got another"),
        ("a\nb", "a\\nb: expected a printable ASCII file name, got another"),
        ("a\\b", "a\\b: expected a printable ASCII file name, got another"),
        ("\udcff", "\\udcff: expected a printable ASCII file name, got another"),
        ("1/2/3/4/5/6/7/8/9/f", "1/2/3/4/5/6/7/8/9: expected at most 8 directories deep"),
    ],
)
def test_names_that_are_refused(root: Path, name: str, line: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    assert refused(root).startswith(line)


@pytest.mark.parametrize("magic", trees._MAGIC)
def test_compiled_objects_are_known_by_their_first_bytes(root: Path, magic: bytes) -> None:
    (root / "notes.txt").write_bytes(magic + b"\0" * 16)
    assert refused(root).startswith("notes.txt: expected no compiled objects, got ")


def test_an_executable_must_be_declared(root: Path) -> None:
    (root / "kernels" / "k.py").chmod(0o755)
    assert open_bundle(root).files[1].executable
    (root / "README.md").chmod(0o755)
    assert refused(root).startswith("README.md: expected no executable that no row declares")


def test_limits(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_FILES", 3)
    assert refused(root) == "expected at most 3 files, got more"
    monkeypatch.setattr(trees, "MOST_FILES", 4)
    monkeypatch.setattr(trees, "MOST_BYTES", 130)
    assert refused(root) == "expected at most 130 bytes in all, got more"
    monkeypatch.setattr(trees, "MOST_BYTES", 100)
    with pytest.raises(LimitExceeded, match="at most 100 bytes, got more"):
        read_file(root, "manifest.toml")


def test_a_file_that_cannot_be_read(root: Path) -> None:
    with pytest.raises(InputError, match="expected a readable file, got No such file"):
        read_file(root, "kernels/no.py")
    with pytest.raises(InputError, match="got a directory"):
        read_file(root, "kernels")


def test_a_directory_that_became_a_link_is_not_followed(root: Path) -> None:
    (root / "kernels").rename(root.parent / "elsewhere")
    (root / "kernels").symlink_to(root.parent / "elsewhere")
    with pytest.raises(InputError, match="expected a readable file"):
        read_file(root, "kernels/k.py")


def test_descriptors_are_closed(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    open_bundle(root)
    for name in ("kernels/no.py", "kernels"):
        with pytest.raises(InputError):
            read_file(root, name)
    assert len(os.listdir("/proc/self/fd")) == before


def test_own_examples_may_be_byte_compiled_and_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "cacheon"
    root = write(package / "examples" / "good" / "one")
    digest = open_bundle(root).digest
    monkeypatch.setattr(cacheon, "__file__", str(package / "__init__.py"))
    (root / "kernels" / "__pycache__").mkdir()
    (root / "kernels" / "__pycache__" / "k.pyc").write_bytes(b"x")
    os.link(root / "kernels" / "k.py", tmp_path / "cached")
    assert open_bundle(root).digest == digest


# --- the snapshot ----------------------------------------------------------------------------


def test_a_snapshot_is_the_digested_bytes(root: Path, tmp_path: Path) -> None:
    (root / "kernels" / "k.py").chmod(0o755)
    bundle = open_bundle(root)
    copy = take_snapshot(bundle, tmp_path / "snap" / "0")
    assert open_bundle(copy).digest == bundle.digest
    modes = {entry.path: stat.S_IMODE((copy / entry.path).stat().st_mode) for entry in bundle.files}
    assert modes == {"README.md": 0o444, "kernels/k.py": 0o555, "manifest.toml": 0o444}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700


def test_a_file_swapped_since_is_refused(root: Path, tmp_path: Path) -> None:
    bundle = open_bundle(root)
    (root / "kernels" / "k.py").write_text("def f(x, weight, out, eps): evil\n")
    with pytest.raises(InputError, match=r"kernels/k.py: expected the bytes just digested"):
        take_snapshot(bundle, tmp_path / "snap")


def test_a_file_that_came_since_is_not_copied(root: Path, tmp_path: Path) -> None:
    bundle = open_bundle(root)
    (root / "late.py").write_text("x")
    assert not (take_snapshot(bundle, tmp_path / "snap") / "late.py").exists()


def test_a_snapshot_that_cannot_be_written_decides_nothing(root: Path, tmp_path: Path) -> None:
    bundle = open_bundle(root)
    (tmp_path / "snap").mkdir()
    with pytest.raises(InfrastructureError, match="File exists"):
        take_snapshot(bundle, tmp_path / "snap")


def test_a_bundle_is_a_record(root: Path) -> None:
    bundle = open_bundle(root)
    raw = msgspec.msgpack.encode(bundle)
    assert msgspec.msgpack.decode(raw, type=type(bundle)) == bundle
