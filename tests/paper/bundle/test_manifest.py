"""Manifests and metadata: what the public format allows runs, all else is one line."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from cacheon.bundle import Bundle, open_bundle
from cacheon.contract.domain import Domain
from cacheon.records.errors import InputError

HEAD = 'bundle_id = "b"\nabi_version = "cacheon-op-abi-v0"\n'
ROW = '[[ops]]\nslot = "norm.rmsnorm"\nsource = "kernels/k.py"\nentry = "f"\n'
MOE = '[[ops]]\nslot = "moe.fused_experts"\nsource = "kernels/k.py"\nentry = "f"\n'


def write(root: Path, manifest: str, **metadata: Any) -> Path:
    (root / "kernels").mkdir()
    (root / "kernels" / "k.py").write_text("def f(*a):\n    pass\n\n\ndef g(*a):\n    pass\n")
    (root / "manifest.toml").write_text(manifest)
    for name, value in metadata.items():
        text = value if isinstance(value, str) else json.dumps(value)
        (root / f"{name}.json").write_text(text)
    return root


def refused(root: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_bundle(root)
    line = str(caught.value)
    assert line.isprintable()
    assert caught.value.exit_code == 2
    return line.replace(f"{root}{os.sep}", "").replace(str(root), "root")


def domain_of(root: Path) -> Domain:
    return open_bundle(root).variants[0].domain


CASES = Path(os.environ.get("CACHEON_CASES", Path(__file__).parents[3] / "../shared/cases"))


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")
def test_public_bundles_open() -> None:
    roots = [path for path in sorted(CASES.iterdir()) if path.is_dir()]
    assert len(roots) >= 20
    for root in roots:
        bundle = open_bundle(root)
        assert bundle.warnings == ()
        assert bundle.variants[0].graph_safe is True
        assert bundle.variants[0].dtypes == ("float32", "bfloat16", "float16")


def test_the_least_bundle(tmp_path: Path) -> None:
    bundle = open_bundle(write(tmp_path, HEAD + ROW))
    (row,) = bundle.variants
    assert (row.name, row.row, row.entry, row.prepare) == ("default", 1, "f", "")
    assert (row.graph_safe, row.dtypes, row.architectures) == (None, (), ())
    assert row.domain == Domain()
    assert (bundle.target, bundle.mode, bundle.warnings) == ("", "", ())


def test_everything_a_row_can_say(tmp_path: Path) -> None:
    manifest = (
        HEAD
        + 'authors = ["a"]\n[competition]\ntarget = "moe.fused_experts"\n'
        + 'mode = "slot"\nseason = 1\n'
        + MOE
        + 'variant = "fast-1"\nprepare = "g"\ndtypes = ["bf16", "float16", "mxfp4"]\n'
        + 'architectures = ["SM_90", "sm100"]\nmetadata = "./m.json"\n'
        + 'cuda_sources = ["kernels/n.cu"]\nstages = 3\nbuilt = 2024-01-01\n'
    )
    root = write(
        tmp_path,
        manifest,
        m={
            "graph_safe": True,
            "dtypes": ["float32", "bfloat16"],
            "architectures": ["sm_90"],
            "quant": ["none"],
            "max_last_dim": 8192,
            "min_num_tokens": 2,
            "max_num_tokens": 64,
            "capabilities": {"top_k": [1, 2, 4], "num_tokens": {"max": 32}},
            "notes": "anything",
        },
    )
    (root / "kernels" / "n.cu").write_text("// cuda")
    bundle = open_bundle(root)
    (row,) = bundle.variants
    assert row.dtypes == ("bfloat16",)
    assert row.architectures == ("sm90",)
    assert row.cuda_sources == ("kernels/n.cu",)
    assert row.prepare == "g"
    assert row.extra["stages"] == 3
    assert set(row.domain.fields) == {
        "architecture", "dtype", "last_dim", "num_tokens", "quant", "top_k",
    }  # fmt: skip
    tokens = row.domain.fields["num_tokens"]
    assert (tokens.low, tokens.high) == (2, 32)
    assert [line.partition(": ")[2].partition(":")[0] for line in bundle.warnings] == [
        "authors",
        "competition.season",
        "ops[1].stages",
        "ops[1].built",
    ]
    assert (bundle.target, bundle.mode) == ("moe.fused_experts", "slot")


def test_lists_that_are_empty_and_limits_that_are_null_declare_nothing(tmp_path: Path) -> None:
    manifest = HEAD + ROW + 'dtypes = []\nmetadata = "m.json"\n'
    metadata = {"dtypes": ["bfloat16"], "quant": [], "max_last_dim": None, "architectures": []}
    (row,) = open_bundle(write(tmp_path, manifest, m=metadata)).variants
    assert set(row.domain.fields) == {"dtype"}
    assert row.dtypes == ("bfloat16",)


def test_capabilities_narrow_the_declared_dtypes(tmp_path: Path) -> None:
    manifest = HEAD + ROW + 'dtypes = ["float32", "bfloat16"]\nmetadata = "m.json"\n'
    root = write(tmp_path, manifest, m={"capabilities": {"dtype": "bf16", "arch": "sm_90"}})
    (row,) = open_bundle(root).variants
    assert row.dtypes == ("bfloat16",)
    assert row.architectures == ("sm90",)


@pytest.mark.parametrize("value", [True, False])
def test_graph_safe_is_declared_or_not(tmp_path: Path, value: bool) -> None:
    manifest = HEAD + ROW + 'metadata = "m.json"\n'
    (row,) = open_bundle(write(tmp_path, manifest, m={"graph_safe": value})).variants
    assert row.graph_safe is value
    assert "graph_mode" not in row.domain.fields


def test_graph_safe_false_beside_both_graph_modes_is_no_contradiction(tmp_path: Path) -> None:
    metadata = {"graph_safe": False, "capabilities": {"graph_mode": ["on", "off"]}}
    domain = domain_of(write(tmp_path, HEAD + ROW + 'metadata = "m.json"\n', m=metadata))
    assert domain.fields["graph_mode"].values == ("cuda_graph", "eager")


def test_disjoint_variants_and_an_atomic_target(tmp_path: Path) -> None:
    row = '[[ops]]\nslot = "collective.{}"\nsource = "kernels/k.py"\nentry = "f"\n'
    manifest = (
        HEAD
        + '[competition]\ntarget = "collective.moe_epilogue.v1"\n'
        + row.format("ar_residual_rmsnorm")
        + 'variant = "a"\nmetadata = "m.json"\n'
        + row.format("ar_residual_rmsnorm")
        + 'variant = "b"\nmetadata = "n.json"\n'
        + row.format("moe_finalize_ar_rmsnorm")
    )
    root = write(
        tmp_path,
        manifest,
        m={"max_num_tokens": 7},
        n={"capabilities": {"num_tokens": {"min": 8}}},
    )
    bundle: Bundle = open_bundle(root)
    assert [row.name for row in bundle.variants] == ["a", "b", "default"]
    assert bundle.mode == "atomic"


@pytest.mark.parametrize(
    ("manifest", "line"),
    [
        ("", "manifest.toml: bundle_id: expected text, got nothing"),
        ("a = [", "manifest.toml: expected TOML, got Invalid value"),
        ("\ufeffa = 1", "manifest.toml: expected TOML"),
        ("a = " + "[" * 5000, "manifest.toml: expected TOML, got nesting that is too deep"),
        ("a = " + "[" * 60 + "]" * 60, "expected at most 32 levels, got more"),
        ("a." * 500 + "b = 1", "expected at most 32 levels, got more"),
        ("a = " + "9" * 5000, "manifest.toml: expected TOML, got Exceeds the limit"),
        ("a = 2024-13-45", "manifest.toml: expected TOML"),
        ("a = 1\na = 2", "manifest.toml: expected TOML, got Cannot overwrite a value"),
        ("#" * (300 << 10), "manifest.toml: expected at most 262144 bytes, got 307200"),
        (HEAD.replace('"b"', "1"), "bundle_id: expected text, got an integer"),
        (HEAD.replace('"b"', '"a b"'), "bundle_id: expected [0-9A-Za-z._-]+, got 'a b'"),
        (HEAD.replace('"b"', '"b\\n"'), "bundle_id: expected printable text"),
        (HEAD.replace("-v0", "-v1"), "abi_version: expected cacheon-op-abi-v0"),
        (HEAD, "ops: expected one or more [[ops]] rows, got none"),
        (HEAD + "ops = []", "ops: expected one or more [[ops]] rows, got none"),
        (HEAD + "ops = [1]", "ops: expected tables, got something else"),
        (HEAD + "[ops]\na = 1", "ops: expected one or more [[ops]] rows"),
        (HEAD + ROW * 65, "ops: expected at most 64 rows, got 65"),
        (HEAD + "competition = 3\n" + ROW, "competition: expected an object, got an integer"),
        (HEAD + '[competition]\nmode = "slot"\n' + ROW, "competition.target: expected text"),
        (
            HEAD + '[competition]\ntarget = "x"\n' + ROW,
            "competition.target: expected a registered target, got 'x'",
        ),
        (
            HEAD + '[competition]\ntarget = "norm.rmsnorm"\nmode = "both"\n' + ROW,
            "competition.mode: expected slot or atomic, got 'both'",
        ),
        (
            HEAD + '[competition]\ntarget = "norm.rmsnorm"\nmode = "atomic"\n' + ROW,
            "competition.mode: expected slot for norm.rmsnorm, got atomic",
        ),
        (
            HEAD + '[competition]\ntarget = "attention.sdpa"\n' + ROW,
            "competition.target: expected a row for attention.sdpa, got none",
        ),
        (
            HEAD + ROW.replace("rmsnorm", "rmsnrm"),
            "ops[1].slot: expected a slot of `cacheon slots`, such as norm.rmsnorm",
        ),
        (HEAD + ROW.replace('slot = "norm.rmsnorm"\n', ""), "ops[1].slot: expected text"),
        (HEAD + ROW.replace('entry = "f"\n', ""), "ops[1].entry: expected text, got nothing"),
        (HEAD + ROW.replace('"f"', '"a.b"'), "ops[1].entry: expected the name of a callable"),
        (HEAD + ROW.replace('"f"', '"class"'), "ops[1].entry: expected the name of a callable"),
        (HEAD + ROW.replace('"f"', '"ｆ"'), "ops[1].entry: expected the name of a callable"),
        (HEAD + ROW.replace("kernels/k.py", ""), "ops[1].source: expected a path inside"),
        (HEAD + ROW.replace("kernels/k.py", "/etc/passwd"), "source: expected a path inside"),
        (HEAD + ROW.replace("kernels/k.py", "../k.py"), "source: expected a path inside"),
        (HEAD + ROW.replace("kernels/k.py", "kernels/../k.py"), "expected a path inside"),
        (HEAD + ROW.replace("kernels/k.py", "kernels\\\\k.py"), "expected a path inside"),
        (HEAD + ROW.replace("kernels/k.py", "k\\u0000.py"), "expected printable text"),
        (HEAD + ROW.replace("k.py", "no.py"), "source: expected a file of the bundle"),
        (HEAD + ROW.replace("kernels/k.py", "kernels"), "source: expected a file of the bundle"),
        (HEAD + ROW.replace("kernels/k.py", "manifest.toml"), "expected a Python source file"),
        (HEAD + ROW + 'prepare = "g"', "prepare: expected nothing: norm.rmsnorm prepares nothing"),
        (HEAD + MOE, "prepare: expected a load-time callable: moe.fused_experts has one"),
        (HEAD + MOE + "prepare = 3", "ops[1].prepare: expected text, got an integer"),
        (HEAD + ROW + 'variant = "a/b"', "ops[1].variant: expected [0-9A-Za-z._-]+"),
        (HEAD + ROW + 'dtypes = "float32"', "ops[1].dtypes: expected a list of text, got text"),
        (HEAD + ROW + "dtypes = [1]", "dtypes: expected a list of text, got a list with an int"),
        (HEAD + ROW + 'dtypes = ["a\\nb"]', "ops[1].dtypes: expected printable text"),
        (HEAD + ROW + 'dtypes = ["int4"]', "expected bfloat16 or float16 or float32, got 'int4'"),
        (HEAD + ROW + 'cuda_sources = ["kernels/k.py"]', "cuda_sources: expected .cu or .cuh"),
        (HEAD + ROW + 'cuda_sources = ["no.cu"]', "cuda_sources: expected a file of the bundle"),
        (HEAD + ROW + 'metadata = "no.json"', "metadata: expected a file of the bundle"),
        (HEAD + ROW + ROW, "ops[1].variant: expected a name: norm.rmsnorm has several rows"),
        (
            HEAD + ROW + 'variant = "a"\n' + ROW + 'variant = "a"\n',
            "ops[2].variant: expected a name of its own among norm.rmsnorm, got 'a'",
        ),
        (
            HEAD + ROW + 'variant = "a"\n' + ROW + 'variant = "b"\n',
            "ops[2]: expected a domain that shares no call with variant 'a'",
        ),
    ],
)
def test_manifests_that_are_refused(tmp_path: Path, manifest: str, line: str) -> None:
    assert line in refused(write(tmp_path, manifest))


@pytest.mark.parametrize(
    ("metadata", "line"),
    [
        ("", "m.json: expected JSON, got Expecting value"),
        ("[]", "m.json: expected a JSON object, got a list"),
        ('{"a": 1, "a": 2}', "m.json: a: expected each key once, got it twice"),
        ('{"capabilities": {"top_k": 1, "top_k": 1}}', "top_k: expected each key once"),
        ('{"a": NaN}', "m.json: expected finite numbers, got NaN"),
        ('{"a": ' + "9" * 5000 + "}", "m.json: expected JSON, got Exceeds the limit"),
        ('{"a":' * 100_0 + "1" + "}" * 1000, "m.json: expected "),
        ("[" * 100_000, "m.json: expected JSON, got nesting that is too deep"),
        ('{"a":' * 40 + "1" + "}" * 40, "m.json: expected at most 32 levels, got more"),
        ({"graph_safe": 1}, "m.json: graph_safe: expected a boolean, got an integer"),
        ({"graph_safe": None}, "m.json: graph_safe: expected a boolean, got null"),
        ({"graph_safe": "true"}, "m.json: graph_safe: expected a boolean, got text"),
        ({"max_last_dim": True}, "m.json: max_last_dim: expected an integer, got a boolean"),
        ({"max_last_dim": 1.5}, "m.json: max_last_dim: expected an integer, got a number"),
        ({"max_num_tokens": -1}, "expected an integer from 0 to 2^53"),
        ({"min_num_tokens": 2**60}, "expected an integer from 0 to 2^53"),
        ({"capabilities": []}, "m.json: capabilities: expected an object, got a list"),
        ({"capabilities": {"tokens": 1}}, "capabilities.tokens: expected a descriptor field"),
        ({"capabilities": {"top_k": []}}, "top_k: expected a domain in which top_k can have"),
        ({"min_num_tokens": 9, "max_num_tokens": 8}, "in which num_tokens can have some value"),
        ({"dtypes": ["float16"]}, "dtypes: expected values that the row's list and the metadata"),
        ({"quant": [1]}, "m.json: quant: expected a list of text"),
        (
            {"graph_safe": False, "capabilities": {"graph_mode": "capture"}},
            "m.json: graph_safe: expected true beside graph_mode = cuda_graph",
        ),
    ],
)
def test_metadata_that_is_refused(tmp_path: Path, metadata: Any, line: str) -> None:
    manifest = HEAD + ROW + 'dtypes = ["bfloat16"]\nmetadata = "m.json"\n'
    assert line in refused(write(tmp_path, manifest, m=metadata))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    root = write(tmp_path, HEAD + ROW)
    (root / "manifest.toml").write_bytes(b'bundle_id = "\xff"')
    assert refused(root) == "manifest.toml: byte 13: expected UTF-8, got another encoding"


def test_a_manifest_of_many_keys_is_read_at_once(tmp_path: Path) -> None:
    many = "{" + ",".join(f'"{n}":1' for n in range(20_000)) + "}"
    root = write(tmp_path, HEAD + ROW + 'metadata = "m.json"\n', m=many)
    assert open_bundle(root).variants[0].domain == Domain()


def test_long_lists_are_intersected_at_once(tmp_path: Path) -> None:
    """Two lists of 20,000 values: compared each with each they take ten seconds."""
    listed = [f"a{number}" for number in range(20_000)] + ["float32"]
    root = write(
        tmp_path,
        HEAD + ROW + f'metadata = "m.json"\ndtypes = {json.dumps(listed)}\n',
        m={"dtypes": listed[::-1]},
    )
    started = time.process_time()
    assert open_bundle(root).variants[0].dtypes == ("float32",)
    assert time.process_time() - started < 3
