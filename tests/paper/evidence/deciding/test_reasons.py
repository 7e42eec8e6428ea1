"""The table of reason codes is whole, ordered and frozen."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

import cacheon
from cacheon.evidence import reasons, refusals
from cacheon.evidence.reasons import RANK, REASONS, reason_code
from cacheon.records.errors import InputError

FROZEN = {
    "FAIL": """
        applicability-differs failed-eager failed-capture failed-replay compilation-not-approved
        contradiction domain-not-covered no-applicable-case
    """,
    "NO_DECISION": """
        requirement-missing requirement-unsound no-evidence delivery-missing observation-missing
        member-missing variant-missing case-missing incomplete row-incoherent graph-differs
        rank-missing order-missing stage-missing replay-count soak-count probe-missing
        delivered-twice quorum
    """,
    "PASS": "every-case-shown",
}


@pytest.mark.parametrize("leads", FROZEN)
def test_codes_that_decide_are_frozen_in_their_order(leads: str) -> None:
    assert [code for code, row in REASONS.items() if row.leads == leads] == FROZEN[leads].split()


def test_every_code_says_what_it_means_and_what_to_do() -> None:
    for code, row in REASONS.items():
        assert row.code == code and re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
        assert row.title and not row.title.endswith(".")
        assert row.remedy.endswith(".")
        assert reason_code(code) is row


def test_no_code_stands_twice() -> None:
    # A second row of one code would replace the first, and keep its gravity.
    source = "".join(Path(module.__file__).read_text() for module in (reasons, refusals))
    written = re.findall(r'^    \(\s*"([a-z-]+)",', source, re.MULTILINE)
    assert sorted(written) == sorted(REASONS)
    titles = [row.title for row in REASONS.values()]
    assert len(set(titles)) == len(titles)
    assert list(RANK) == list(REASONS) and list(RANK.values()) == list(range(len(RANK)))


def test_what_fails_leads_what_decides_nothing() -> None:
    order = ["FAIL", "NO_DECISION", "PASS", "set-aside", "refused"]
    said = [order.index(REASONS[code].leads) for code in sorted(RANK, key=RANK.__getitem__)]
    assert said == sorted(said)


def test_an_unknown_code_is_an_input_error() -> None:
    with pytest.raises(InputError, match="expected a reason code, got 'no-such'"):
        reason_code("no-such")


ROOT = Path(cacheon.__file__).parent
RAISING = {"StoreRefused", "RecordRefused", "PointerTaken", "_refused"}


def raised(path: Path) -> set[str]:
    """The first text given to whatever makes a refusal."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            if name in RAISING and texts and isinstance(texts[0], str):
                found.add(texts[0])
    return found


def test_every_code_that_is_raised_stands_in_the_table() -> None:
    sources = [*(ROOT / "evidence").rglob("*.py"), *(ROOT / "records").rglob("*.py")]
    codes = set().union(*map(raised, sources))
    assert codes - set(REASONS) == set()
    # And the search finds them.
    assert {"too-large", "corrupt", "nonce-spent", "unsigned"} <= codes


def test_the_page_says_what_the_table_says() -> None:
    docs = ROOT.parents[1] / "docs" / "evidence"
    spec = importlib.util.spec_from_file_location("reasons_page", docs / "generate.py")
    assert spec is not None and spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    assert (docs / "reasons.md").read_text() == page.reference(), "run `make reference`"
    for code in REASONS:
        assert page.reference().count(f"| `{code}` |") == 1
