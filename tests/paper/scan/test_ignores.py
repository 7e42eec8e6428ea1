"""Ignore comments: for their line or the next, with a reason; what is wrong is told."""

from pathlib import Path

import pytest

from cacheon.bundle import open_bundle
from cacheon.scan.bundles import scan_bundle
from cacheon.scan.ignores import ignores

MANIFEST = """
bundle_id = "b"
abi_version = "cacheon-op-abi-v0"
[[ops]]
slot = "activation.silu_and_mul"
source = "k.py"
entry = "silu_and_mul"
"""
ENTRY = """\
import os
import torch


def silu_and_mul(x, out):
    out.copy_(x[:, : out.shape[1]])
"""


def rows(root: Path, body: str, row: str = "") -> list[tuple[str, str]]:
    (root / "manifest.toml").write_text(MANIFEST + row)
    (root / "k.py").write_text(ENTRY + body)
    return [(f.rule, f.ignored) for f in scan_bundle(open_bundle(root))]


@pytest.mark.parametrize(
    "body",
    [
        "    torch.cuda.synchronize()  # cacheon: ignore[CG105] wanted here\n",
        "    torch.cuda.synchronize()  # noqa  # cacheon:ignore[CG105]  wanted here\n",
        "    torch.cuda.synchronize()  # cacheon: ignore[CG101,CG105] wanted here\n",
        "    # cacheon: ignore[CG105] wanted here\n    torch.cuda.synchronize()\n",
        "    # cacheon: ignore[CG105] wanted here\n\n    # and more\n"
        "    torch.cuda.synchronize()\n",
        "    # cacheon: ignore[CG101] never\n    # cacheon: ignore[CG105] wanted here\n"
        "    torch.cuda.synchronize()\n",
    ],
)
def test_a_finding_is_left_with_its_reason(tmp_path: Path, body: str) -> None:
    assert rows(tmp_path, body) == [("CG105", "wanted here")]


@pytest.mark.parametrize(
    "body",
    [
        "    torch.cuda.synchronize()  # cacheon: ignore[CG101] another rule\n",
        "    # cacheon: ignore[CG105] the line after the next\n    x.sum()\n"
        "    torch.cuda.synchronize()\n",
        '    torch.cuda.synchronize(); y = "# cacheon: ignore[CG105] in a text"\n',
        "    torch.cuda.synchronize()\n    # cacheon: ignore[CG105] too late\n",
    ],
)
def test_a_comment_that_speaks_of_something_else_leaves_it(tmp_path: Path, body: str) -> None:
    assert rows(tmp_path, body) == [("CG105", "")]


@pytest.mark.parametrize(
    ("comment", "what"),
    [
        ("# cacheon: ignore[CG105]", "an ignore comment needs a reason"),
        ("# cacheon: ignore[CG105] ok", "an ignore comment needs a reason"),
        ("# cacheon: ignore[CG199] a reason", "no such rule: CG199"),
        ("# cacheon: ignore[] a reason", "no such rule: none given"),
        ("# cacheon: ignore CG105 a reason", "expected `cacheon: ignore[RULE] reason`"),
        ("# cacheon: skip", "expected `cacheon: ignore[RULE] reason`"),
    ],
)
def test_a_comment_that_cannot_stand_is_a_finding(tmp_path: Path, comment: str, what: str) -> None:
    body = f"    torch.cuda.synchronize()  {comment}\n"
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    (tmp_path / "k.py").write_text(ENTRY + body)
    findings = scan_bundle(open_bundle(tmp_path))
    assert [f.rule for f in findings] == ["CG105", "CG808"]
    assert findings[1].message == what
    assert not any(f.ignored for f in findings)


def test_what_may_run_at_all_cannot_be_left(tmp_path: Path) -> None:
    body = "    os.abort()  # cacheon: ignore[CG902] it is the best way\n"
    assert rows(tmp_path, body) == [("CG902", "")]


def test_a_source_without_the_word_is_not_read_again() -> None:
    assert ignores("x = (\n").lines == {}


@pytest.mark.parametrize("end", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028"])
def test_lines_are_counted_as_python_counts_them(tmp_path: Path, end: str) -> None:
    """A character that ends a line for other readers moves no finding, and no comment."""
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    body = f"    # one{end}  two\n    torch.cuda.synchronize()  # cacheon: ignore[CG105] wanted\n"
    (tmp_path / "k.py").write_text(ENTRY + body)
    (finding,) = (f for f in scan_bundle(open_bundle(tmp_path)) if f.rule == "CG105")
    assert finding.source.startswith("torch.cuda.synchronize()")
    assert finding.ignored == "wanted"


@pytest.mark.parametrize("text", ['"""', "if x:\n    a\n  b", "({"])
def test_in_what_is_no_python_no_comment_speaks(tmp_path: Path, text: str) -> None:
    mark = "x()  # cacheon: ignore[CG503] a word\n"
    said = ignores(f"\n{mark}{text}\n")
    assert (said.lines, [line for line, _ in said.wrong]) == ({}, [2])
    (tmp_path / "k.cu").write_text(f"// {text}\nvoid f() {{ cudaMalloc(0, 1); }} // {mark}{text}")
    found = rows(tmp_path, "", 'cuda_sources = ["k.cu"]\n')
    assert ("CG503", "") in found


def test_what_fails_a_bundle_whatever_it_computes(tmp_path: Path) -> None:
    body = "    torch.cuda.synchronize()\n    os.abort()\n    os.environ\n"
    rows(tmp_path, body)
    findings = scan_bundle(open_bundle(tmp_path))
    assert [(f.rule, f.hostile) for f in findings] == [
        ("CG105", False),
        ("CG902", True),
        ("CG909", False),
    ]
