"""What counts as right, cell by cell, grain by grain, block by block."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from cacheon.contract.slots import SLOTS
from cacheon.engine.grader import compare
from cacheon.engine.grader.compare import Measured, differs, measure, no_accident

from .cases import case_of

SILU = case_of("activation.silu_and_mul", "bfloat16", T=8, d=160)
DECODE = case_of("attention.decode", "bfloat16", B=4, Hq=8, Hkv=1, D=128, S=16)
SCORE = case_of("attention.msa_block_score", "bfloat16", B=4, Hq=2, D=64, S=2048)


def near_one(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def one(case: object, right: torch.Tensor, answer: torch.Tensor) -> Measured:
    slot = SLOTS[case.slot]  # type: ignore[attr-defined]
    (found,), mask = measure(slot, case, right[None], answer[None])  # type: ignore[arg-type]
    assert mask.shape == (1, *answer.shape)
    assert mask.dtype == torch.bool
    assert found.ok == (found.reason == "")
    return found


def test_a_rounded_answer_is_right() -> None:
    right = near_one(8, 160)
    found = one(SILU, right, right.to(torch.bfloat16))
    assert found.ok
    assert found.wrong == found.nonfinite == 0
    assert found.total == 8 * 160
    assert 0 < found.max_relative < 4e-3


def test_allclose_allows_no_cell() -> None:
    right = near_one(8, 160).abs() + 1
    answer = right.to(torch.bfloat16)
    answer[3, 70] *= 1.06
    found = one(SILU, right, answer)
    assert (found.wrong, found.worst_row, found.worst_tile) == (1, 3, 1)
    assert "1 of 1280 cells" in found.reason


def test_matched_ratio_allows_its_share_of_cells_and_no_grain() -> None:
    right = near_one(4, 8, 128)
    answer = right.to(torch.bfloat16)
    answer[:, :, 5] += 0.1  # one cell of 64 in every grain of the first tile
    found = one(DECODE, right, answer)
    assert found.ok
    assert found.wrong == 32
    answer[:, :, 69] += 0.1
    assert "64 of 4096 cells out of tolerance, 40 allowed" in one(DECODE, right, answer).reason
    answer = right.to(torch.bfloat16)
    answer[2, 6, 64:] = 0
    found = one(DECODE, right, answer)
    assert found.wrong <= 0.02 * found.total
    assert (found.worst_row, found.worst_head, found.worst_tile) == (2, 6, 1)
    answer = right.to(torch.bfloat16)
    answer[1, 3] *= 1.03
    found = one(DECODE, right, answer)
    assert found.wrong <= 0.01 * found.total
    assert found.structural
    assert "row 1, head 3" in found.reason


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_cells_never_pass(value: float) -> None:
    right = near_one(4, 8, 128)
    answer = right.to(torch.bfloat16)
    answer[0, 0, 0] = value
    found = one(DECODE, right, answer)
    assert found.nonfinite == 1
    assert found.max_abs == math.inf
    assert "NaN or infinite" in found.reason


def test_the_last_tile_is_whole_where_the_columns_are_not() -> None:
    case = case_of("activation.silu_and_mul", "float16", T=2, d=65)
    right = near_one(2, 65).abs() + 1
    right[1, 64] = 1e-3
    answer = right.to(torch.float16)
    answer[1, 64] = 0  # a tile of this one cell would be wholly wrong
    assert one(case, right, answer).ok
    answer[1, 40:] *= 1.02
    found = one(case, right, answer)
    assert (found.worst_row, found.worst_tile) == (1, 1)
    case = case_of("attention.decode", "float16", B=1, Hq=8, Hkv=1, D=96, S=4)
    right = near_one(1, 8, 96).clamp(-1, 1)
    answer = right.to(torch.float16)
    answer[0, 2, 48:] *= 1.015
    assert "head 2, columns 32 to 95" in one(case, right, answer).reason


def test_an_expected_zero_has_a_floor() -> None:
    right = near_one(4, 8, 128)
    right[0, 0] = 0
    answer = right.to(torch.bfloat16)
    answer[0, 0] = 1e-5
    assert one(DECODE, right, answer).ok


def test_many_answers_are_measured_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    right = torch.stack([near_one(4, 8, 128) + n for n in range(5)])
    answers = right.to(torch.bfloat16)
    answers[3, 1, 2] = 0
    slot = SLOTS[DECODE.slot]
    together, mask = measure(slot, DECODE, right, answers)
    assert [found.ok for found in together] == [True, True, True, False, True]
    assert bool(mask[3, 1, 2].any())
    assert not bool(mask[4].any())
    monkeypatch.setitem(compare.AT_ONCE, "cpu", 1)
    assert measure(slot, DECODE, right, answers)[0] == together
    alone = [
        measure(slot, DECODE, r[None], a[None])[0][0] for r, a in zip(right, answers, strict=True)
    ]
    assert alone == together


@contextmanager
def transfers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of the calls by which the host reads a tensor."""
    seen: list[str] = []
    for name in ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__", "nonzero"):
        method = getattr(torch.Tensor, name)

        def spy(self: torch.Tensor, *args: object, _n: str = name, _m: object = method) -> object:
            seen.append(_n)
            return _m(self, *args)  # type: ignore[operator]

        monkeypatch.setattr(torch.Tensor, name, spy)
    yield seen
    monkeypatch.undo()


def test_everything_comes_in_one_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = near_one(6, 4, 16)
    with transfers(monkeypatch) as seen:
        measure(SLOTS[SCORE.slot], SCORE, scores, scores.bfloat16())
        cells = near_one(6, 4, 8, 128)
        measure(SLOTS[DECODE.slot], DECODE, cells, cells.bfloat16())
    assert seen == ["tolist", "tolist"]


def test_a_pitched_answer_is_measured_where_it_lies() -> None:
    case = case_of("attention.msa_prefill_block_score", "bfloat16", T=3, P=12, D=64, block=64)
    right = near_one(3, 13) + 20 * torch.arange(13)
    wide = torch.full((3, 21), math.nan)
    wide[:, :13] = right
    assert one(case, right, wide[:, :13]).ok


# --- block scores ----------------------------------------------------------------------


def ladder(visible: int = 16) -> torch.Tensor:
    """Four rows of 16 blocks: the best 8 score 100 and more, the others up to 50."""
    scores = torch.tensor([*range(100, 108), *range(43, 51)], dtype=torch.float64)
    scores = scores.repeat(4, 1)
    scores[:, visible:] = -math.inf
    return scores


def test_any_increasing_function_of_the_scores_is_right() -> None:
    assert one(SCORE, ladder(), (ladder() * 0.01 - 3).to(torch.bfloat16)).ok


def test_a_clear_row_loses_no_block() -> None:
    answer = ladder()
    answer[2, 0] = 0
    found = one(SCORE, ladder(), answer)
    assert found.structural
    assert found.worst_row == 2
    assert "row 2" in found.reason


def test_an_unclear_row_may_lose_two_of_eight() -> None:
    right = ladder()
    right[:, 8:] += 49.5  # up to 99.5, next to 100
    answer = right.clone()
    answer[2, :2] = 0
    assert one(SCORE, right, answer).ok
    answer[2, 2] = 0
    assert one(SCORE, right, answer).structural


def test_the_mean_overlap_counts() -> None:
    right = ladder()
    right[:, 8:] += 49.5
    answer = right.clone()
    answer[:, :2] = 0
    found = one(SCORE, right, answer)
    assert not found.structural
    assert "mean overlap" in found.reason


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_equal_scores_rank_nothing(value: float) -> None:
    found = one(SCORE, ladder(), torch.full((4, 16), value))
    assert found.max_relative == 1
    assert not found.ok


def test_a_tie_above_the_cut_is_no_loss() -> None:
    answer = ladder()
    answer[:, :8] = 100
    assert one(SCORE, ladder(), answer).ok


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_and_infinite_scores_never_pass(value: float) -> None:
    answer = ladder(12)
    answer[1, 13] = value
    assert one(SCORE, ladder(12), answer).nonfinite == 1


def test_minus_infinity_is_legal_where_a_block_is_invisible_only() -> None:
    right = ladder(12)
    assert one(SCORE, right, right.to(torch.bfloat16)).ok
    answer = right.clone()
    answer[0, 11] = -math.inf
    assert one(SCORE, right, answer).wrong == 1
    answer = right.clone()
    answer[0, 12] = -1e30
    assert one(SCORE, right, answer).wrong == 1


def test_rows_of_few_visible_blocks_have_a_smaller_k() -> None:
    right = ladder(5)
    assert one(SCORE, right, right + torch.arange(16)).ok
    answer = right.clone()
    answer[3, 2] = -math.inf
    assert not one(SCORE, right, answer).ok


# --- freshness -------------------------------------------------------------------------


def test_differs_is_the_share_of_grains_that_changed() -> None:
    old = near_one(4, 8, 128)
    new = old.clone()
    slot = SLOTS[DECODE.slot]
    assert differs(slot, DECODE, old, new) == 0
    new[1] += 1
    assert differs(slot, DECODE, old, new) == pytest.approx(0.25)


def test_differs_for_scores_is_the_share_of_rows_ranked_otherwise() -> None:
    old, new = ladder(12), ladder(12)
    slot = SLOTS[SCORE.slot]
    assert differs(slot, SCORE, old, new * 0.5) == 0
    new[1, 0], new[1, 9] = 0, 200
    new[2, 12] = 0
    assert differs(slot, SCORE, old, new) == pytest.approx(0.5)


@pytest.mark.parametrize("rounds", [4, 8, 50])
@pytest.mark.parametrize("cells", [512, 8192, 1 << 24])
def test_a_cell_that_is_always_wrong_is_no_accident(rounds: int, cells: int) -> None:
    for others in (0, 1, cells * rounds // 200):
        assert no_accident(cells, rounds, rounds + others) <= rounds


def test_a_cell_of_its_own_is_wrong_in_half_of_the_rounds() -> None:
    assert no_accident(8192, 8, 4) == 4
    assert no_accident(8192, 50, 25) == 25


@pytest.mark.parametrize("share", [0.005, 0.02])
@pytest.mark.parametrize("rounds", [4, 8])
def test_what_a_matched_ratio_allows_makes_no_cell_wrong(share: float, rounds: int) -> None:
    """Cells that are out of tolerance now and then, each as often as any other."""
    cells, chance = 4096, torch.Generator().manual_seed(5)
    for _ in range(5):
        out = torch.rand((rounds, cells), generator=chance) < share
        counts = out.sum(0)
        assert int(counts.max()) < no_accident(cells, rounds, int(counts.sum()))
