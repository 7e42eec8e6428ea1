"""A candidate's source: parsed before it is imported, then walked by the scan."""

import ast
import re
import shutil
import sys
import warnings
from pathlib import Path

from tests.fuzz.targets.target import Target, joined, parts, refused, room

import cacheon
from cacheon.bundle import Bundle, open_bundle
from cacheon.records.errors import CacheonError
from cacheon.scan.bundles import scan_bundle
from cacheon.scan.findings import ScanFinding
from cacheon.scan.parse import parse
from cacheon.scan.source import check_source

_EXAMPLES = Path(cacheon.__file__).parent / "examples"
_FILES = ("kernels/k.py", "kernels/other.py", "kernels/k.cu")
_MANIFEST = """bundle_id = "b"
abi_version = "cacheon-op-abi-v0"
[[ops]]
slot = "activation.silu_and_mul"
source = "kernels/k.py"
entry = "entry"
cuda_sources = ["kernels/k.cu"]
"""
_LINE = re.compile("\r\n|\r|\n")


def check(data: bytes) -> bool:
    """1. What is accepted is what Python would import: the same tree, whatever the encoding
    that the bytes declare. 2. The scan says the same twice. 3. A finding stands on the line
    that it names, as Python counts lines, and may be shown."""
    files = {"kernels/k.cu": b"", **parts(data, _FILES)}
    bundle = _laid(files)
    try:
        check_source(bundle)
        findings = scan_bundle(bundle)
    except CacheonError as error:
        return refused(error)
    for name in files:
        if name.endswith(".py"):
            assert _dumped(parse(files[name], name)) == _dumped(_imported(files[name]))
    assert scan_bundle(bundle) == findings
    for finding in findings:
        _stands(finding, files)
    return True


def _laid(files: dict[str, bytes]) -> Bundle:
    root = room("source") / "bundle"
    shutil.rmtree(root, ignore_errors=True)
    (root / "kernels").mkdir(parents=True)
    (root / "manifest.toml").write_text(_MANIFEST)
    for name, body in files.items():
        (root / name).write_bytes(body)
    return open_bundle(root)


def _imported(data: bytes) -> ast.Module:
    """The tree as an import would make it, from bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)


def _dumped(tree: ast.Module) -> str:
    most = sys.get_int_max_str_digits()
    # A number of the source may be longer than Python likes to write.
    sys.set_int_max_str_digits(0)
    try:
        return ast.dump(tree, include_attributes=True)
    finally:
        sys.set_int_max_str_digits(most)


def _stands(finding: ScanFinding, files: dict[str, bytes]) -> None:
    for text in (finding.message, finding.source, finding.ignored, finding.function):
        assert text.isprintable(), ascii(text)
    if finding.file == "manifest.toml":
        return
    lines = _LINE.split(files[finding.file].decode("utf-8-sig", "replace"))
    assert 0 <= finding.line <= len(lines), finding
    if finding.line and lines[finding.line - 1].isprintable() and len(finding.source) < 100:
        assert finding.source == lines[finding.line - 1].strip(), finding


def seeds() -> list[bytes]:
    return [*map(_seed, _sources()), _EVERYTHING]


def _sources() -> list[Path]:
    found = [*_EXAMPLES.glob("*/*/kernels/*silu*.py"), *_EXAMPLES.glob("good/*/kernels/*.py")]
    return sorted(set(found))


def _seed(path: Path) -> bytes:
    """A shipped example whose entry is called as this target's row says."""
    source = path.read_bytes()
    return joined({"kernels/k.py": source + b"\n\ndef entry(x, out):\n    pass\n"})


_EVERYTHING = joined(
    {
        "kernels/k.py": b'''# -*- coding: utf-8 -*-
from __future__ import annotations
import torch, os
from .other import scale, CACHE as KEPT
from other import *

SOURCE = """
__global__ void k() {}
void f() { k<<<1, 2>>>(); cudaDeviceSynchronize(); }
"""

def entry(x, out, *rest, eps: float = 1e-5, **more):
    \x0c
    try:
        with torch.no_grad() as mode, open("f") as file:
            out.copy_(scale(x)[..., : x.shape[-1] // 2])
    except* ValueError as error:
        raise RuntimeError from error
    match x:
        case {"a": [1, *_, b], **others} if b:
            KEPT[b] = x.item()  # cacheon: ignore[CG101] a word
    if (n := int(x.sum())) > 0xffff_ffff:
        os.environ["A"] = f"{n!r:>{10}}" "\\ud800"
    return lambda y=lambda: x: (yield y)
''',
        "kernels/other.py": b"""CACHE = {}


def scale(x):
    CACHE.setdefault(x.shape, x)
    for each in CACHE:
        x = x * 2 + 1j
    while x.any():
        break
    return x


class Held:
    kept: int = 0

    def __call__(self, x): self.kept = x; return self
""",
        "kernels/k.cu": b"/* k<<<1,2>>> */ __global__ void k();\nvoid f(){k<<<1,2,(3,4),0>>>();}\n",
    }
)

TARGET = Target(
    "source",
    check,
    seeds,
    words=(
        b"# coding: latin-1\n", b"#coding=utf-7\n", b"# -*- coding: utf-8 -*-\n", b"\xef\xbb\xbf",
        b"# a\xe2\x80\xa8# coding: latin-1\n", b"\x0c", b"\xe2\x80\xa8", b"\x0b", b"\xc2\x85",
        b"\xe2\x84\xab", b"+AAo-import os", b"async ", b"await ", b"yield ", b"lambda: ", b"not ",
        b"def f():\n    ", b"class C(C):\n    ", b"global x\n", b"return ", b"\\\n", b"\t", b"    ",
        b"from kernels.k import *\n", b"from . import k\n", b"import kernels.other\n", b"**", b"@",
        b"entry", b"x.item()", b"torch.cuda.synchronize()", b"# cacheon: ignore[CG101] why\n",
        b"# cacheon: ignore[]", b"exec('x')", b"getattr(x, 'item')()", b"0x" + b"f" * 4000,
        b"\n--- kernels/other.py\n", b"<<<", b">>>", b"/*", b"*/", b"if 1:\n  x = 1\n",
        b"x = x.x\n", b"entry(entry, entry)\n", b"f'{x!r:{y}}'", b"1e400", b"(" * 60, b"[" * 60,
    ),
    seconds=10.0,
)  # fmt: skip
