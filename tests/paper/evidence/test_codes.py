"""The codes of refusals are frozen: those raised are those in the tables, and these."""

import ast
import re
from pathlib import Path

import pytest

import cacheon.evidence

ROOT = Path(cacheon.evidence.__file__).parent
FROZEN = {
    "store": (
        "corrupt damaged dangling full hard-link io missing not-a-digest not-a-directory "
        "not-a-file not-a-name not-a-store pointer quota taken too-large"
    ),
    "keys": "key-exists key-exposed key-file public-key",
    "envelope": "payload-type signatures unsigned",
    "checkpoint": "log-forked log-order log-origin log-proof log-shrunk",
}
SOURCES = {
    "store": sorted((ROOT / "store").glob("*.py")),
    "keys": [ROOT / "keys.py"],
    "envelope": [ROOT / "envelope.py"],
    "checkpoint": [ROOT / "checkpoint.py", ROOT / "log.py"],
}
RAISING = {"StoreRefused", "RecordRefused", "_refused"}


def raised(path: Path) -> set[str]:
    """The first text given to whatever makes a refusal."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            values = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            texts = [value for value in values if isinstance(value, str)]
            if name in RAISING and texts:
                found.add(texts[0])
    return found


@pytest.mark.parametrize("subject", FROZEN)
def test_the_codes_are_those_of_the_table(subject: str) -> None:
    # A pointer that is taken and a failing system have classes of their own.
    own = {"taken", "io", "full"} if subject == "store" else set()
    frozen = set(FROZEN[subject].split())
    assert set().union(*map(raised, SOURCES[subject])) | own == frozen
    table = ROOT / "store" / "errors.py" if subject == "store" else SOURCES[subject][0]
    listed = re.findall(r"^\| `([a-z-]+)` \|", table.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(frozen)
