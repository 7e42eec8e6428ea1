"""Bits of tensors, compared in the widest words that they allow."""

import torch

_WORD = 8
_WIDTHS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def same_bits(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """bool (1,): two tensors of one shape and type, on one device, hold the same bits."""
    if in_words(one) and in_words(other):
        return (_words(one) == _words(other)).all().reshape(1)
    return (_integers(one) == _integers(other)).all().reshape(1)


def all_nan(tensor: torch.Tensor) -> torch.Tensor:
    """bool (1,): every element of a float tensor has the bits that `fill_(nan)` leaves."""
    size = tensor.element_size()
    piece = torch.full((_WORD // size,), float("nan"), dtype=tensor.dtype, device=tensor.device)
    if in_words(tensor):
        return (_words(tensor) == piece.view(torch.int64)).all().reshape(1)
    return (_integers(tensor) == _integers(piece[:1])).all().reshape(1)


def filled(rows: torch.Tensor, byte: int) -> torch.Tensor:
    """bool (N,): every byte of a row of uint8 (N, nbytes) is this one. The rows are cut out of
    longer ones, which begin and end at whole words; these need only end so."""
    odd = rows.shape[1] % _WORD
    words = rows[:, odd:].view(torch.int64)
    word = int.from_bytes(bytes([byte]) * _WORD, "little", signed=True)
    return (rows[:, :odd] == byte).all(dim=1) & (words == word).all(dim=1)


def in_words(tensor: torch.Tensor) -> bool:
    """Whether it lies in one piece of whole words."""
    start = tensor.storage_offset() * tensor.element_size()
    return tensor.is_contiguous() and start % _WORD == 0 == tensor.nbytes % _WORD


def _words(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(-1).view(torch.int64)


def _integers(tensor: torch.Tensor) -> torch.Tensor:
    """Integers of the elements' own width: on NaN a comparison of floats says nothing."""
    return tensor.view(_WIDTHS[tensor.element_size()])
