"""The check before import: it parses, it has the declared callables, nothing is run."""

import warnings
from pathlib import Path

import pytest

from cacheon.bundle import open_bundle
from cacheon.records.errors import InputError
from cacheon.scan.source import check_source

MANIFEST = """
bundle_id = "b"
abi_version = "cacheon-op-abi-v0"
[[ops]]
slot = "moe.fused_experts"
source = "k.py"
entry = "f"
prepare = "g"
"""


def check(root: Path, source: bytes) -> None:
    (root / "manifest.toml").write_text(MANIFEST)
    (root / "k.py").write_bytes(source)
    bundle = open_bundle(root)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_source(bundle)


@pytest.mark.parametrize(
    "source",
    [
        "def f(): pass\ndef g(): pass",
        "f = g = print",
        "from m import f\nimport g",
        "import a.b as f, g.h",
        "from m import *",
        "try:\n    from m import f\nexcept ImportError:\n    f = None\ng: object = f",
        "if 1:\n    class f: pass\nelse:\n    pass\nfor g in (): pass",
        "with open('x') as (f, g): pass",
        "match 1:\n    case 1:\n        f = 1\n    case _:\n        g = 1",
        "(f, *g) = [1]",
        "print(f := 1, g := 2)",
        "\ufeffdef f(): pass\ndef g(): pass",
        "# -*- coding: UTF-8 -*-\nf = g = '\\d'",
        "f = g = 1 is 1",
        "if __name__ == '__main__':\n    pass\nelse:\n    f = 1\nif (g := 1): pass",
        "if __name__ != '__main__':\n    f = g = 1",
    ],
)
def test_ways_to_define_a_callable(tmp_path: Path, source: str) -> None:
    check(tmp_path, source.encode())


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b"def f(): pass", "k.py: ops[1]: expected `g` at the top level of the module, got no"),
        (b"def g(): f = 1", "expected `f` at the top level"),
        (b"class C:\n    f = 1\n    g = 1", "expected `f` at the top level"),
        (b"g = [f for f in ()]\nh = lambda: (f := 1)", "expected `f` at the top level"),
        (b"g = 1\nif __name__ == '__main__':\n    f = 1", "expected `f` at the top level"),
        (b"f = g = '" + b"a" * (2 << 20) + b"'", "k.py: expected a source of at most 2097152 by"),
        (b"def f(): pass\nasync def g(): pass", "got a coroutine, which would run nothing"),
        (b"def f(:\n", "k.py: line 1: expected Python, got invalid syntax"),
        (b"f = g = 1\nreturn 3", "k.py: line 2: expected Python, got 'return' outside function"),
        (b"f = g = '\xff'", "k.py: byte 9: expected UTF-8, got another encoding"),
        (b"# coding: latin-1\nf = g = 1", "k.py: line 1: expected UTF-8, got 'latin-1'"),
        (b"#!x\n# vim: set fileencoding=utf-7 :\n", "k.py: line 2: expected UTF-8, got 'utf-7'"),
        ("# a\u2028b\n# coding: utf-7\n".encode(), "k.py: line 2: expected UTF-8, got 'utf-7'"),
        (b"# a\x0cb\r#coding=koi8-r\r", "k.py: line 2: expected UTF-8, got 'koi8-r'"),
        (b"f = g = 1\0", "k.py: expected Python, got a NUL byte"),
        (b"f = g = " + b"(" * 5000, "k.py: "),
        (b"f = g = " + b"-" * 100_000 + b"1", "k.py: "),
        (b"f = g = " + b"a." * 100_000 + b"b", "k.py: "),
        (b"f = g = " + b"9" * 5000, "k.py: line 1: expected Python, got Exceeds the limit"),
        (b"\n".join(b" " * n + b"if 1:" for n in range(200)), "k.py: line 101: expected Python"),
    ],
)
def test_sources_that_are_refused_in_one_line(tmp_path: Path, source: bytes, line: str) -> None:
    with pytest.raises(InputError) as caught:
        check(tmp_path, source)
    assert line in str(caught.value)
    assert str(caught.value).isprintable()


def test_every_python_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("x = ")
    with pytest.raises(InputError, match=r"other\.py: line 1: expected Python"):
        check(tmp_path, b"f = g = 1")


def test_nothing_of_the_source_runs(tmp_path: Path) -> None:
    check(tmp_path, b"f = g = 1\nraise SystemExit(3)")
    assert {path.name for path in tmp_path.iterdir()} == {"k.py", "manifest.toml"}


def test_a_source_that_was_swapped_since_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    (tmp_path / "k.py").write_text("f = g = 1")
    bundle = open_bundle(tmp_path)
    (tmp_path / "k.py").write_text("f = g = 2")
    with pytest.raises(InputError, match="expected the bytes just digested"):
        check_source(bundle)
