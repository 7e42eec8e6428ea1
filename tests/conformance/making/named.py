"""Files that a person names, in the place of which there is something else.

Whoever opens a FIFO and waits for its writer waits for ever.
"""

from collections.abc import Iterator

from tests.conformance.making.auditing import a_grade, published
from tests.conformance.making.entry import Entry, Files, sent
from tests.conformance.making.world import KEYS, REQUIREMENT, digest

NAMED = "named"
STORE = "--store evidence"
SINCE = f"--log-key lab.example/log={KEYS[3]} --since {NAMED}"
REQUIRE = "require activation.silu_and_mul --bundle bundle"
LINES = {
    "grade": f"grade {NAMED} {STORE}",
    "intake": f"intake sent/delivery.json --requirement {NAMED} {STORE}",
    "observe": f"observe {NAMED} --bundle bundle {STORE} --key signer.key",
    "require": f"{REQUIRE} --arena h200-decode --launch {NAMED}",
    "require-as-an-arena": f"{REQUIRE} --arena {NAMED}.toml --launch launch.json",
    "arena-check": f"arena check {NAMED}",
    "grade-as-a-minimum": f"grade {digest(REQUIREMENT)} {STORE} --minimum {NAMED}.toml",
    "log-verify": f"log verify log {SINCE}",
    "audit": f"audit {digest(a_grade())} {STORE} --log log {SINCE}",
}
"""Command lines that name a file, by what the directory says of them."""
BUNDLE: Files = {
    "bundle/manifest.toml": b"""bundle_id = "nothing"
abi_version = "cacheon-op-abi-v0"

[competition]
target = "activation.silu_and_mul"
mode = "slot"

[[ops]]
slot = "activation.silu_and_mul"
source = "silu.py"
entry = "silu"
""",
    "bundle/silu.py": b"def silu(*tensors):\n    return None\n",
}


def entries() -> Iterator[Entry]:
    files = sent() | published(a_grade())
    for verb, line in LINES.items():
        place = f"{NAMED}.toml" if f"{NAMED}.toml" in line else NAMED
        name = f"refused-not-a-file-named-to-{verb}-is-a-fifo"
        given = BUNDLE if line.startswith("require") else files
        yield Entry(name, (f"cacheon {line}",), given, (f"fifo {place}",))
    kinds = {"a-directory": f"directory {NAMED}", "an-endless-device": f"link {NAMED} /dev/zero"}
    for kind, make in kinds.items():
        name = f"refused-not-a-file-named-to-grade-is-{kind}"
        yield Entry(name, (f"cacheon {LINES['grade']}",), files, (make,))
