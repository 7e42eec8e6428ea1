"""The catalogue of faults: its ids are frozen, and every rule can be acted on."""

import re

import pytest

from cacheon.records.errors import InputError
from cacheon.rules.catalogue import RULES, rule

FROZEN = {
    "synchronization": "CG101 CG102 CG103 CG104 CG105",
    "writes": "CG201 CG202 CG203 CG204 CG205 CG206",
    "staleness": "CG301 CG302 CG303 CG304 CG305",
    "streams": "CG401 CG402 CG403 CG404",
    "allocation": "CG501 CG502 CG503 CG504 CG505 CG506",
    "groups": "CG601 CG602 CG603",
    "state": "CG701 CG702 CG703",
    "declarations": "CG801 CG802 CG803 CG804 CG805 CG806 CG807 CG808",
    "hostility": "CG901 CG902 CG903 CG904 CG905 CG906 CG907 CG908 CG909 CG910",
}
"""An id is never reused or renumbered: add new ones at the end of their group."""


def test_ids_are_frozen() -> None:
    assert list(RULES) == " ".join(FROZEN.values()).split()
    for group, ids in FROZEN.items():
        assert {RULES[id].group for id in ids.split()} == {group}


@pytest.mark.parametrize("id", RULES)
def test_every_rule_says_why_and_what_to_do(id: str) -> None:
    found = RULES[id]
    assert found.id == id
    assert found.title[-1] != "."
    assert len(found.title) <= 80
    for text in (found.why, found.remedy):
        assert text.endswith(".")
        assert "  " not in text
        assert 1 <= len(re.findall(r"[.!?](?= [A-Z`]|$)", text)) <= 4
        assert 60 <= len(text) <= 500


@pytest.mark.parametrize("written", ["CG203", "cg203", " CG203\n"])
def test_a_rule_is_found_by_its_id(written: str) -> None:
    assert rule(written).title == "partial write of the output"


@pytest.mark.parametrize(
    ("written", "line"),
    [
        (
            "CG199",
            "expected one of CG101, CG102, CG103, CG104, CG105, got 'CG199'",
        ),
        ("host node", "expected one of CG404, got 'host node'"),
        ("zzz", "expected a rule id such as CG203, got 'zzz'"),
        ("", "expected a rule id such as CG203, got ''"),
    ],
)
def test_an_unknown_id_is_answered_with_near_ones(written: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        rule(written)
    expected, got = line.split(", got")
    assert str(caught.value) == f"rule: {expected} (`cacheon explain --list`), got{got}"
