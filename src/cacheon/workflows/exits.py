"""From outcomes to the exit code of a command: pure."""

from collections.abc import Iterable

from cacheon.engine.outcome import BundleOutcome, VariantOutcome
from cacheon.engine.request import Device

SHOWN, FAILED, UNUSABLE, NO_DECISION, NO_PROOF = 0, 1, 2, 3, 4
_GRAVEST_FIRST = (UNUSABLE, FAILED, NO_DECISION, NO_PROOF)


def gravest(codes: Iterable[int]) -> int:
    """2 before 1 before 3 before 4 before 0."""
    seen = set(codes)
    return next((code for code in _GRAVEST_FIRST if code in seen), SHOWN)


def of_variant(outcome: VariantOutcome, device: Device) -> int:
    """What one variant says. On a CPU the arithmetic is what can be shown, and a
    rehearsal that failed is a failure."""
    match outcome.word:
        case "PASS":
            return SHOWN
        case "FAIL":
            return FAILED
        case "NUMERICAL_PASS":
            shown = device == "cpu" and outcome.rehearsal != "failed"
            return SHOWN if shown else FAILED
        case "NO_DECISION":
            return NO_DECISION
        case "N/A":
            return SHOWN


def of_bundle(outcome: BundleOutcome, error_code: int, device: Device) -> int:
    """The gravest of its variants, of hostile material in its source, and of what stopped
    it, `error_code`, 0 for nothing; a bundle of which no case applied has shown nothing."""
    codes = [of_variant(variant, device) for variant in outcome.variants]
    if any(finding.hostile for finding in outcome.scanned):
        codes.append(FAILED)
    if not error_code and all(variant.word == "N/A" for variant in outcome.variants):
        return FAILED
    return gravest([error_code, *codes])
