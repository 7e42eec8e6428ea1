"""Sources that want to hurt: one clear line each, in bounded time."""

import ast
import time
from math import inf
from pathlib import Path

import pytest
from tests.paper.scan.long_source import long_source

from cacheon.bundle import open_bundle
from cacheon.records.errors import InputError, LimitExceeded
from cacheon.scan import bundles
from cacheon.scan.bundles import scan_bundle
from cacheon.scan.paths import scan_path

ENTRY = "def silu_and_mul(x, out):\n    out.copy_(x[:, : out.shape[1]])\n"
MANIFEST = """
bundle_id = "b"
abi_version = "cacheon-op-abi-v0"
[[ops]]
slot = "activation.silu_and_mul"
source = "k.py"
entry = "silu_and_mul"
"""


def line_of(root: Path, source: bytes, outside: str = "") -> str:
    """The one line of a source that is refused, in a bundle and outside one, where it may
    need something more to be refused."""
    (root / "manifest.toml").write_text(MANIFEST)
    (root / "k.py").write_bytes(source)
    bundle = open_bundle(root)
    with pytest.raises(InputError) as caught:
        scan_bundle(bundle)
    (root / "manifest.toml").unlink()
    (root / "k.py").write_bytes(source + outside.encode())
    (report,) = scan_path(root)
    assert report.exit_code == 2
    assert [line.rpartition("k.py")[2] for line in report.unusable] == [
        str(caught.value).rpartition("k.py")[2]
    ]
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b"x = '" + b"a" * (10 << 20) + b"'", "expected a source of at most 2097152 bytes"),
        (b"x = " + b"(" * 5000, "too many nested parentheses"),
        (b"x = " + b"-" * 100_000 + b"1", "expected Python"),
        (b"x = " + b"a." * 100_000 + b"b", "expected Python"),
        (b"x = a" + b".b" * 300, "expected nesting of at most 200 levels, got more"),
        (b"if x:\n  pass\n" + b"elif y:\n  pass\n" * 300, "nesting of at most 200 levels"),
        (b"x = " + b"1 + " * 400 + b"1", "k.py: line 1: expected nesting"),
        (b"\xff\xfe" + "x = 1".encode("utf-16-le"), "byte 0: expected UTF-8"),
        (b"# coding: utf-7\nx = 1", "line 1: expected UTF-8, got 'utf-7'"),
        (b"x=1;" * 150_000, "k.py: expected a tree of at most 400000 nodes, got more"),
        (b"x = 1\0", "got a NUL byte"),
        (b"x = ", "line 1: expected Python"),
        (b"\n".join(b" " * n + b"if 1:" for n in range(200)), "line 101: expected Python"),
    ],
)
def test_a_hostile_source_is_one_line(tmp_path: Path, source: bytes, line: str) -> None:
    started = time.monotonic()
    said = line_of(tmp_path, source)
    assert line in said
    assert said.isprintable()
    assert len(said) < 700
    assert time.monotonic() - started < 30


def scanned(root: Path, source: str) -> tuple[list[str], float]:
    (root / "manifest.toml").write_text(MANIFEST)
    (root / "k.py").write_text(source)
    bundle = open_bundle(root)
    # Of this process alone: others may use the machine.
    started = time.process_time()
    rules = [finding.rule for finding in scan_bundle(bundle)]
    return rules, time.process_time() - started


def parsed(source: str) -> float:
    """Seconds of this process that Python itself takes to read and compile it."""
    started = time.process_time()
    compile(ast.parse(source), "k.py", "exec")
    return time.process_time() - started


@pytest.mark.slow
def test_five_thousand_lines_take_less_than_a_second(tmp_path: Path) -> None:
    """Where others use the processor's caches, or it is slow, the same steps take twice as
    long; Python's own then do too."""
    source = long_source("t.sum().item()")
    assert source.count("\n") > 5000
    best = least = inf
    for _ in range(8):
        rules, seconds = scanned(tmp_path, source)
        assert rules == ["CG101"]
        best, least = min(best, seconds), min(least, parsed(source))
        if best < 1:
            return
    assert best < 8 * least, f"{best:.2f} s, {best / least:.1f} times what Python itself takes"


def test_what_would_take_for_ever_is_given_up(tmp_path: Path) -> None:
    """Calls that branch into calls: their number is exponential, and the scan's is not."""
    source = "import torch\n"
    for n in range(9):
        source += f"def f{n}(a, b):\n"
        source += "".join(f"    a = f{n + 1}(a + {k}, (a, b))\n" for k in range(9))
        source += "    return a, b\n"
    source += "def f9(a, b):\n    return (a, b)\n"
    source += "def silu_and_mul(x, out):\n    f0(x, out)\n    torch.cuda.synchronize()\n"
    _, seconds = scanned(tmp_path, source)
    assert seconds < 20


def branching(depth: int) -> str:
    """Functions that call each other with ever other arguments: `f0` begins."""
    lines: list[str] = []
    for n in range(depth):
        lines.append(f"def f{n}(a):")
        lines += [f"    f{n + 1}((a, lambda: {k}))" for k in range(9)]
    return "\n".join([*lines, f"def f{depth}(a):", "    pass", ""])


def test_a_source_that_takes_more_steps_than_it_may_is_refused(tmp_path: Path) -> None:
    source = f"{branching(10)}import torch\n{ENTRY}    f0(x)\n    x.sum().item()\n"
    outside = "def g(x: torch.Tensor):\n    f0(x)\n"
    started = time.process_time()
    line = "k.py: expected calls that are followed in 200000 steps, got more"
    assert line in line_of(tmp_path, source.encode(), outside)
    assert time.process_time() - started < 20


def test_many_sources_do_not_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stays below what one source may take."""
    monkeypatch.setattr(bundles, "MOST_STEPS_OF_ALL", 100_000)
    for n in range(3):
        (tmp_path / f"m{n}.py").write_text(branching(4) + "MADE = f0(1)\n")
    assert scanned(tmp_path, f"import m0\nimport m1\n{ENTRY}")[0] == ["CG910"]
    with pytest.raises(LimitExceeded, match=r"0: expected calls that are followed in 100000 s"):
        scanned(tmp_path, f"import m0\nimport m1\nimport m2\n{ENTRY}")


def test_one_long_source_does_not_stop_the_rest(tmp_path: Path) -> None:
    chain = "from torch import Tensor\n"
    chain += "".join(f"def f{n}(x: Tensor):\n    return f{n + 1}(x)\n" for n in range(8000))
    (tmp_path / "chain.py").write_text(chain)
    (tmp_path / "norm.py").write_text(
        "from torch import Tensor\ndef norm(x: Tensor):\n    return x.item()\n"
    )
    started = time.process_time()
    (report,) = scan_path(tmp_path)
    assert time.process_time() - started < 20
    assert [(f.rule, f.file) for f in report.findings] == [("CG101", "norm.py")]
    assert report.unusable == (
        f"{tmp_path}/chain.py: expected calls that are followed in 200000 steps, got more",
    )
    assert report.exit_code == 2


def test_calls_in_a_circle_end(tmp_path: Path) -> None:
    source = "def a(x):\n    return b(x)\n\n\ndef b(x):\n    return a(x)\n\n\n" + ENTRY
    rules, _ = scanned(tmp_path, source + "    a(x)\n    x.sum().item()\n")
    assert rules == ["CG101"]


def test_sources_that_import_each_other_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("from k import silu_and_mul\nVALUE = 3\n")
    rules, _ = scanned(tmp_path, "from other import VALUE\n\n\n" + ENTRY)
    assert rules == []


@pytest.mark.parametrize(
    "line", ["f = partial(f, 1)", "f = partial(g, f, f)", "f = partial(g, a=(f, f), b=f)"]
)
def test_partials_of_partials_stay_small(tmp_path: Path, line: str) -> None:
    source = "from functools import partial\ndef g(*a, **b):\n    return a\nf = g\n"
    source += f"{line}\n" * 2000 + ENTRY + "    f(x, out)\n    x.sum().item()\n"
    rules, seconds = scanned(tmp_path, source)
    assert rules == ["CG101"]
    assert seconds < 5


def test_deep_but_allowed_nesting_over_calls_is_walked(tmp_path: Path) -> None:
    """What lies deeper than the walk goes is unknown; nothing breaks."""
    deep = "(" * 90 + "t" + ",)" * 90 + ", t" + ".a" * 180
    source = "".join(f"def f{n}(t):\n    return f{n + 1}({deep})\n" for n in range(20))
    source += "def f20(t):\n    return t\n" + ENTRY + "    f0(x)\n"
    rules, _ = scanned(tmp_path, source)
    assert rules == []
