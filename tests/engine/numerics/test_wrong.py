"""Every wrong implementation fails in one of any two consecutive rounds: by construction
of the draws, so for every seed, case and dtype."""

from collections.abc import Iterator

import pytest
import torch

from cacheon.contract.case import Case
from cacheon.contract.slots import SLOTS
from cacheon.engine.grader.compare import measure

from .candidates import CANDIDATES, cannot_show, damaged
from .cases import DEVICES, DTYPES, NAMES, case_of, drawn, expected, published_cases, small_cases
from .implementations import decode_from_zero


def pairs(name: str, dtype: str, device: str) -> Iterator[tuple[Case, int, int]]:
    """Case, seed, first round of two."""
    for seed in range(3):
        for case in small_cases(name, dtype, seed):
            yield case, seed, seed
    for case in published_cases(name, dtype, device):
        yield case, 7, 6


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_wrong_implementations_fail_in_any_two_rounds(name: str, dtype: str, device: str) -> None:
    slot, candidates = SLOTS[name], CANDIDATES[name]
    wrong = dict(candidates.wrong)
    wrong |= {how: damaged(candidates.honest["exact"], how) for how in candidates.damages}
    for case, seed, first in pairs(name, dtype, device):
        passed = {who for who in wrong if not cannot_show(who, case)}
        for turn, where in ((first, "A"), (first + 1, "A'")):
            inputs = drawn(case, seed, turn, where=where, device=device)
            names = sorted(passed)
            with torch.device(device):
                answers = torch.stack([wrong[who](inputs, case) for who in names])
            right = expected(case, inputs).expand(answers.shape)
            found, _ = measure(slot, case, right, answers)
            passed = {who for who, one in zip(names, found, strict=True) if one.ok}
            if not passed:
                break
        assert not passed, (case.label, dtype, seed, first)


@pytest.mark.parametrize("tokens", [3, 10])
def test_a_lost_sign_is_seen_where_one_block_is_left_out(tokens: int) -> None:
    """Of nine blocks eight are best; the ninth may happen to be the lowest without signs too."""
    case = case_of("attention.msa_block_score", B=tokens, Hq=4, D=128, S=1152)
    for seed in range(30):
        seen = []
        for turn in (seed, seed + 1):
            inputs = drawn(case, seed, turn)
            (found,), _ = measure(
                SLOTS[case.slot],
                case,
                expected(case, inputs)[None],
                CANDIDATES[case.slot].wrong["unsigned"](inputs, case)[None],
            )
            seen.append(not found.ok)
        assert any(seen), seed


@pytest.mark.parametrize("name", NAMES)
def test_yesterdays_answer_fails_today(name: str) -> None:
    """An answer to the draws of the round before is no answer."""
    for dtype in DTYPES:
        for case in small_cases(name, dtype, 1):
            old = CANDIDATES[name].honest["exact"](drawn(case, 1, 2), case)
            right = expected(case, drawn(case, 1, 3))
            (found,), _ = measure(SLOTS[name], case, right[None], old[None])
            assert not found.ok, (case.label, dtype)


@pytest.mark.parametrize("row_keys", [4096, 16384])
def test_zeros_fail_at_long_lengths(row_keys: int) -> None:
    """The mean of so many keys is within tolerance of zero, and zero still fails."""
    case = case_of("attention.decode", "bfloat16", B=2, Hq=4, Hkv=1, D=64, S=row_keys)
    inputs = drawn(case, 3, 0, "maximal")
    right = expected(case, inputs)
    answers = right.to(torch.bfloat16).clone()
    answers[1] = 0
    (found,), _ = measure(SLOTS[case.slot], case, right[None], answers[None])
    assert not found.ok
    assert found.worst_row == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_key_far_below_zero_is_seen_at_minimal_lengths(dtype: str) -> None:
    """Every second row sees one key alone; a maximum that begins at zero loses it."""
    for case in small_cases("attention.decode", dtype, 4):
        inputs = drawn(case, 4, 1, "minimal")
        right, answers = expected(case, inputs), decode_from_zero(inputs, case)
        alone = inputs["seq_lens"] == 1
        assert bool(alone.any()), case.label
        assert bool(answers[alone].isnan().all())
        (found,), _ = measure(SLOTS[case.slot], case, right[None], answers[None])
        assert not found.ok, case.label
