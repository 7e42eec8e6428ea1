"""Bits compared in words: whatever is one bit off is seen, wherever it stands."""

import pytest
import torch

from cacheon.engine.grader.bits import all_nan, filled, in_words, same_bits

DTYPES = [torch.bfloat16, torch.float16, torch.float32, torch.int32, torch.int64, torch.uint8]
SHAPES = [(1,), (3,), (4, 2), (5, 7), (0, 4)]


def shaken(tensor: torch.Tensor, place: int) -> torch.Tensor:
    """One bit of one byte turned round."""
    other = tensor.clone()
    other.view(-1).view(torch.uint8)[place] ^= 1
    return other


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_bit_tells(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    one = torch.randint(0, 100, shape).to(dtype)
    assert same_bits(one, one.clone()).tolist() == [True]
    for place in {0, one.nbytes // 2, one.nbytes - 1} if one.nbytes else set():
        assert same_bits(one, shaken(one, place)).tolist() == [False]


def test_nan_is_itself_and_minus_zero_is_not_zero() -> None:
    nan, zero = torch.full((4,), float("nan")), torch.zeros(4)
    assert same_bits(nan, nan.clone())
    assert not same_bits(zero, -zero)


def test_what_does_not_lie_in_one_piece() -> None:
    pitched = torch.arange(24, dtype=torch.float32).view(4, 6)[:, :5]
    assert not in_words(pitched)
    assert same_bits(pitched, pitched.clone())
    other = pitched.clone()
    other[3, 4] += 1
    assert not same_bits(pitched, other)
    # It begins in the middle of a word.
    half = torch.arange(9, dtype=torch.float32)[1:]
    assert not in_words(half)
    assert same_bits(half, half.clone())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("count", [1, 3, 8, 1024])
def test_poison_is_all_there(dtype: torch.dtype, count: int) -> None:
    poisoned = torch.empty(count, dtype=dtype).fill_(float("nan"))
    assert all_nan(poisoned).tolist() == [True]
    for place in (0, count - 1):
        written = poisoned.clone()
        written[place] = 0
        assert not all_nan(written)
        # Another NaN is written too.
        assert not all_nan(shaken(poisoned, place * poisoned.element_size()))


@pytest.mark.parametrize("width", [8, 13, 16, 1])
def test_rows_of_one_byte(width: int) -> None:
    start = -(-width // 8) * 8 - width
    whole = torch.full((3, 64), 0x5A, dtype=torch.uint8)
    rows = whole[:, 8 + start : 8 + start + width]
    assert filled(rows, 0x5A).tolist() == [True] * 3
    for place in (0, width - 1):
        rows[1, place] ^= 1
        assert filled(rows, 0x5A).tolist() == [True, False, True]
        rows[1, place] ^= 1
    assert filled(whole[:, 8:8], 0x5A).tolist() == [True] * 3
    assert filled(torch.full((1, 8), 0xFF, dtype=torch.uint8), 0xFF).tolist() == [True]
