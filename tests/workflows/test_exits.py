"""Every word and every code, exhaustively."""

import itertools
from typing import get_args

import pytest

from cacheon.engine.outcome import BundleOutcome, Rehearsal, VariantOutcome, Word
from cacheon.rules.model import Severity
from cacheon.scan.findings import ScanFinding
from cacheon.workflows import exits

WORDS: tuple[Word, ...] = get_args(Word)
REHEARSALS: tuple[Rehearsal, ...] = get_args(Rehearsal)


def variant(word: Word, rehearsal: Rehearsal = "") -> VariantOutcome:
    return VariantOutcome(
        slot="norm.rmsnorm",
        variant="default",
        dtype="float32",
        backend="cuda",
        isolation="process",
        word=word,
        graph="NOT_VERIFIED",
        rehearsal=rehearsal,
    )


def bundle(*variants: VariantOutcome) -> BundleOutcome:
    return BundleOutcome(path="b", variants=variants)


@pytest.mark.parametrize("codes", list(itertools.product(range(5), repeat=3)))
def test_the_gravest_is_2_before_1_before_3_before_4(codes: tuple[int, ...]) -> None:
    rank = {2: 0, 1: 1, 3: 2, 4: 3, 0: 4}
    assert exits.gravest(codes) == min(codes, key=rank.__getitem__)


def test_nothing_at_all_is_success() -> None:
    assert exits.gravest([]) == 0


@pytest.mark.parametrize("rehearsal", REHEARSALS)
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_word_on_every_device(word: Word, rehearsal: Rehearsal, device: str) -> None:
    expected = {"PASS": 0, "FAIL": 1, "NO_DECISION": 3, "N/A": 0, "NUMERICAL_PASS": 1}[word]
    if word == "NUMERICAL_PASS" and device == "cpu" and rehearsal != "failed":
        # On a CPU the arithmetic is all that can be shown.
        expected = 0
    outcome = variant(word, rehearsal)
    assert exits.of_variant(outcome, "cpu" if device == "cpu" else "cuda") == expected


@pytest.mark.parametrize("error", [0, 2, 3])
@pytest.mark.parametrize("words", list(itertools.product(WORDS, repeat=2)))
def test_one_variant_hides_behind_no_other(words: tuple[Word, Word], error: int) -> None:
    outcome = bundle(*(variant(word) for word in words))
    code = exits.of_bundle(outcome, error, "cuda")
    single = [exits.of_variant(v, "cuda") for v in outcome.variants]
    if not error and words == ("N/A", "N/A"):
        assert code == 1
    else:
        assert code == exits.gravest([error, *single])


def test_a_bundle_of_which_no_case_applied_has_shown_nothing() -> None:
    assert exits.of_bundle(bundle(variant("N/A")), 0, "cpu") == 1
    assert exits.of_bundle(bundle(variant("N/A"), variant("PASS")), 0, "cuda") == 0


@pytest.mark.parametrize(
    ("rule", "severity", "ignored", "code"),
    [
        ("CG905", "error", "", 1),
        ("CG905", "error", "a comment of its own", 1),
        ("CG909", "warning", "", 0),
        ("CG101", "error", "", 0),
    ],
)
def test_hostile_material_in_the_source_fails_a_bundle_that_passes(
    rule: str, severity: Severity, ignored: str, code: int
) -> None:
    finding = ScanFinding(
        rule=rule,
        file="k.py",
        line=1,
        column=1,
        function="",
        source="",
        message="",
        severity=severity,
        confidence="high",
        ignored=ignored,
    )
    outcome = BundleOutcome(path="b", variants=(variant("PASS"),), scanned=(finding,))
    assert exits.of_bundle(outcome, 0, "cuda") == code
