"""What lies at a path: bundles, files of bundles, packages, files; and flake8's way in."""

import ast
import gc
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from cacheon.bundle import open_bundle
from cacheon.records.errors import InputError
from cacheon.scan import paths
from cacheon.scan.flake8_plugin import Plugin
from cacheon.scan.paths import bundle_of, scan_path
from cacheon.scan.source import check_source

MANIFEST = """
bundle_id = "b"
abi_version = "cacheon-op-abi-v0"
[[ops]]
slot = "activation.silu_and_mul"
source = "kernels/k.py"
entry = "silu_and_mul"
"""
SYNC = """\
import torch
from helping import help_out


def silu_and_mul(x, out):
    help_out(x)
    out.copy_(x[:, : out.shape[1]])
    torch.cuda.synchronize()
"""
HELP = "def help_out(t):\n    return t.item()\n"
LIBRARY = """\
import torch
from torch import Tensor


def norm(x: Tensor, scale: float):
    return x / x.sum().item() * scale
"""


def bundle(root: Path) -> Path:
    (root / "kernels").mkdir(parents=True)
    (root / "manifest.toml").write_text(MANIFEST)
    (root / "kernels" / "k.py").write_text(SYNC)
    (root / "kernels" / "helping.py").write_text(HELP)
    return root


def seen(path: Path) -> list[tuple[str, str, str, int]]:
    return [
        (report.kind, finding.rule, finding.file, finding.line)
        for report in scan_path(path)
        for finding in report.findings
    ]


def test_a_bundle_and_its_files(tmp_path: Path) -> None:
    root = bundle(tmp_path / "b")
    helper = ("bundle", "CG101", "kernels/helping.py", 2)
    entry = ("bundle", "CG105", "kernels/k.py", 8)
    assert seen(root) == [helper, entry]
    assert seen(root / "kernels") == [helper, entry]
    assert seen(root / "kernels" / "k.py") == [entry]
    assert seen(root / "kernels" / "helping.py") == [helper]
    assert bundle_of(tmp_path) is None


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (SYNC.replace("silu_and_mul", "other"), "ops[1]: expected `silu_and_mul` at the top"),
        (SYNC.replace("def silu", "async def silu"), "ops[1]: expected `silu_and_mul` at the top"),
        (SYNC + "return\n", "line 9: expected Python, got 'return' outside function"),
    ],
)
def test_a_bundle_without_what_it_declares_is_unusable(
    tmp_path: Path, source: str, line: str
) -> None:
    root = bundle(tmp_path / "b")
    (root / "kernels" / "k.py").write_text(source)
    with pytest.raises(InputError) as caught:
        check_source(open_bundle(root))
    assert f"kernels/k.py: {line}" in str(caught.value)
    for path in (root, root / "kernels" / "helping.py"):
        (report,) = scan_path(path)
        # The line of every verb that opens a bundle.
        assert (report.kind, report.unusable) == ("unusable", (str(caught.value),))
        assert report.exit_code == 2


def test_bundles_and_other_sources_in_one_directory(tmp_path: Path) -> None:
    bundle(tmp_path / "some" / "b")
    (tmp_path / "norm.py").write_text(LIBRARY)
    (tmp_path / "notes.txt").write_text("x")
    for hidden in (".venv", "__pycache__"):
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "norm.py").write_text(LIBRARY)
    assert [row[:3] for row in seen(tmp_path)] == [
        ("bundle", "CG101", "kernels/helping.py"),
        ("bundle", "CG105", "kernels/k.py"),
        ("source", "CG101", "norm.py"),
    ]
    assert [report.kind for report in scan_path(tmp_path / "some")] == ["bundle"]


def test_a_package_knows_its_own_name(tmp_path: Path) -> None:
    inner = tmp_path / "package" / "inner"
    inner.mkdir(parents=True)
    (inner / "__init__.py").write_text("")
    (inner.parent / "__init__.py").write_text("from .inner.reading import read\n")
    (inner / "reading.py").write_text("def read(t):\n    return t.item()\n")
    (inner / "norm.py").write_text(
        "from torch import Tensor\nfrom package.inner.reading import read\n"
        "from .. import read as read_again\nfrom . import reading\n\n\n"
        "def norm(x: Tensor):\n    return read(x)\n"
    )
    for path in (tmp_path / "package", inner):
        assert [row[1] for row in seen(path)] == ["CG101"]
    assert seen(inner)[0][2] == "reading.py"


def test_a_directory_without_sources_is_unusable(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x = ")
    (report,) = scan_path(tmp_path)
    assert (report.kind, report.files, report.exit_code) == ("unusable", 0, 2)
    assert report.unusable == (f"{tmp_path}: expected Python sources, got none",)


def test_what_cannot_be_read_does_not_stop_the_rest(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = ")
    (tmp_path / "norm.py").write_text(LIBRARY)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    (report,) = scan_path(tmp_path)
    assert report.exit_code == 2
    assert [f.rule for f in report.findings] == ["CG101"]
    assert "bad.py: line 1: expected Python" in report.unusable[0]
    assert "gone.py: expected a readable file, got No such file" in report.unusable[1]


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def device(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


def listening(path: Path) -> Path:
    # The file stays when its socket is closed.
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))
    return path


SPECIAL = [(fifo, "a FIFO"), (device, "a device"), (listening, "a socket")]


@pytest.mark.parametrize(("make", "kind"), SPECIAL)
def test_what_is_no_regular_file_is_not_waited_for(
    tmp_path: Path, make: Callable[[Path], Path], kind: str
) -> None:
    path = make(tmp_path / "q.py")
    line = f"{path}: expected a regular file, got {kind}"
    (report,) = scan_path(path)
    assert (report.kind, report.unusable, report.exit_code) == ("unusable", (line,), 2)
    # In a directory, it is a source that cannot be read; the others are.
    (tmp_path / "norm.py").write_text(LIBRARY)
    (report,) = scan_path(tmp_path)
    assert (report.kind, report.files, report.unusable) == ("source", 1, (line,))
    assert [finding.rule for finding in report.findings] == ["CG101"]
    assert report.exit_code == 2


@pytest.mark.parametrize(("make", "kind"), SPECIAL)
def test_a_manifest_that_is_no_regular_file_makes_no_bundle(
    tmp_path: Path, make: Callable[[Path], Path], kind: str
) -> None:
    (tmp_path / "norm.py").write_text(LIBRARY)
    make(tmp_path / "manifest.toml")
    assert [row[:2] for row in seen(tmp_path)] == [("source", "CG101")]


def test_a_file_that_is_swapped_while_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "norm.py").write_text(LIBRARY)
    opener = paths._at_once

    def swapped(file: str, flags: int) -> int:
        os.unlink(file)
        os.mkfifo(file)
        return opener(file, flags)

    monkeypatch.setattr(paths, "_at_once", swapped)
    (report,) = scan_path(tmp_path)
    assert report.unusable == (f"{tmp_path}/norm.py: expected a regular file, got a FIFO",)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(tmp_path: Path, enabled: bool) -> None:
    (tmp_path / "norm.py").write_text(LIBRARY)
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        (report,) = scan_path(tmp_path)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert report.exit_code == 1


def test_a_link_to_a_source_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "kept.txt").write_text(LIBRARY)
    (tmp_path / "a" / "norm.py").symlink_to(tmp_path / "kept.txt")
    assert seen(tmp_path / "a") == [("source", "CG101", "norm.py", 6)]


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda root: root / "nothing", "nothing: expected a file or a directory, got nothing"),
        (lambda root: bundle(root / "b") / "kernels" / "k.py", "b: k.so: expected"),
    ],
)
def test_an_unusable_path_is_one_line(tmp_path: Path, make: object, line: str) -> None:
    path = make(tmp_path)  # type: ignore[operator]
    (tmp_path / "b").mkdir(exist_ok=True)
    (tmp_path / "b" / "k.so").write_bytes(b"\x7fELF")
    (report,) = scan_path(path)
    assert report.kind == "unusable"
    assert line in report.unusable[0]
    assert report.exit_code == 2


def test_a_directory_that_cannot_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(paths, "_is_bundle", refuse)
    (report,) = scan_path(tmp_path)
    assert report.unusable == (f"{tmp_path}: Permission denied",)


def test_too_many_sources_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST_FILES", 1)
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("")
    (report,) = scan_path(tmp_path)
    assert "expected at most 1 sources, got more" in report.unusable[0]


def test_flake8_gets_findings_of_the_file_with_the_bundle_around_it(tmp_path: Path) -> None:
    root = bundle(tmp_path)
    source = root / "kernels" / "helping.py"
    (row,) = Plugin(ast.parse(HELP), str(source)).run()
    assert row[:2] == (2, 11)
    assert row[2].startswith("CG101 ")
    (root / "kernels" / "k.py").write_text("import torch\n" + SYNC.replace("()\n", "(  # x\n"))
    (row,) = Plugin(ast.parse(HELP), str(source)).run()
    assert row[:2] == (1, 0)
    assert row[2].startswith("CG806 ")


def test_flake8_on_standard_input_says_nothing(tmp_path: Path) -> None:
    assert list(Plugin(ast.parse(""), "-").run()) == []


def test_flake8_leaves_what_the_source_answers_for(tmp_path: Path) -> None:
    source = tmp_path / "norm.py"
    source.write_text(LIBRARY.replace("* scale", "* scale  # cacheon: ignore[CG101] slow on"))
    assert list(Plugin(ast.parse(LIBRARY), str(source)).run()) == []
