"""A bundle's manifest and metadata: TOML and JSON, then what they say together."""

import json
import shutil
from pathlib import Path

from tests.fuzz.targets.target import Target, joined, parts, refused, room

import cacheon
from cacheon.bundle import Bundle, open_bundle, take_snapshot
from cacheon.records.errors import CacheonError

_EXAMPLES = Path(cacheon.__file__).parent / "examples" / "good"
_FILES = ("manifest.toml", "metadata/a.json", "metadata/b.json")
_SOURCE = "def entry(*a):\n    pass\n\n\ndef prepare(*a):\n    pass\n"


def check(data: bytes) -> bool:
    """1. What opens opens again, to the same. 2. Its snapshot is a bundle of the same digest
    and meaning. 3. Warnings are lines that may be shown, and there are no more than keys."""
    root = _laid(data)
    try:
        bundle = open_bundle(root)
    except CacheonError as error:
        return refused(error)
    assert _plain(open_bundle(root)) == _plain(bundle)
    copy = room("bundle") / "snapshot"
    shutil.rmtree(copy, ignore_errors=True)
    copied = open_bundle(take_snapshot(bundle, copy))
    assert copied.digest == bundle.digest
    assert str(copied.variants) == str(bundle.variants)
    for warning in bundle.warnings:
        assert warning.isprintable() and len(warning) <= 300
    assert len(bundle.warnings) <= len(data)
    return True


def _laid(data: bytes) -> Path:
    root = room("bundle") / "bundle"
    shutil.rmtree(root, ignore_errors=True)
    (root / "kernels").mkdir(parents=True)
    (root / "metadata").mkdir()
    (root / "kernels" / "k.py").write_text(_SOURCE)
    (root / "kernels" / "k.cu").write_text("// empty\n")
    for name, body in parts(data, _FILES).items():
        (root / name).write_bytes(body)
    return root


def _plain(bundle: Bundle) -> str:
    """Compared as text: NaN, in a key without meaning, is equal to nothing."""
    return repr(bundle)


def seeds() -> list[bytes]:
    return [_seed(root) for root in sorted(_EXAMPLES.iterdir()) if root.is_dir()] + [_EVERYTHING]


def _seed(root: Path) -> bytes:
    """A shipped example, its files under the names of this target."""
    manifest = (root / "manifest.toml").read_text()
    files = {"manifest.toml": b""}
    metadata = sorted((root / "metadata").glob("*.json"))
    for source in (root / "kernels").glob("*.py"):
        manifest = manifest.replace(f"kernels/{source.name}", "kernels/k.py")
    for name, path in zip(_FILES[1:], metadata, strict=False):
        manifest = manifest.replace(f"metadata/{path.name}", name)
        files[name] = path.read_bytes()
    return joined({**files, "manifest.toml": manifest.encode()})


_EVERYTHING = joined(
    {
        "manifest.toml": b"""bundle_id = "everything"
abi_version = "cacheon-op-abi-v0"
note = 1979-05-27T07:32:00Z
[[ops]]
slot = "norm.rmsnorm"
variant = "a"
source = "kernels/k.py"
entry = "entry"
dtypes = ["bf16", "float32"]
architectures = ["SM_90"]
metadata = "metadata/a.json"
cuda_sources = ["kernels/k.cu"]
tuned = { block = [128, 0xff], ratio = nan }
[[ops]]
slot = "norm.rmsnorm"
variant = "b"
source = "./kernels/k.py"
entry = "entry"
metadata = "metadata/b.json"
""",
        "metadata/a.json": json.dumps(
            {
                "graph_safe": True,
                "quant": ["none"],
                "max_last_dim": 8192,
                "min_num_tokens": 1,
                "max_num_tokens": 64,
                "capabilities": {
                    "arch": "sm90",
                    "hidden_dim": {"one_of": [2880, 4096], "min": 1, "max": 1e4},
                    "dtype": {"exact": "bfloat16"},
                    "tp_size": 1,
                },
            },
            indent=1,
        ).encode(),
        "metadata/b.json": b'{"graph_safe":false,"capabilities":{"num_tokens":{"min":65}}}',
    }
)

TARGET = Target(
    "bundle",
    check,
    seeds,
    words=(
        b"[[ops]]\n", b"[competition]\n", b'slot = "moe.fused_experts"\n', b'prepare = "prepare"\n',
        b'"capabilities":{', b'"graph_mode":"cuda_graph",', b'{"min":1,"max":2}', b'{"one_of":[',
        b'"exact":', b"\n--- metadata/a.json\n", b"\n--- manifest.toml\n", b'"""', b"'''",
        b'target = "norm.rmsnorm"\n', b'mode = "slot"\n', b"kernels/../kernels/k.py", b"bfloat16",
    ),
)  # fmt: skip
