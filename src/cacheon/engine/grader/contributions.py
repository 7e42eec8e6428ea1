"""A wrong sum over ranks: which contribution is missing, doubled, exchanged or old.

Every rank's values are drawn from a source of its own, so a wrong sum is right for one
mistake at most. Nothing here decides whether a case fails.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from cacheon.engine.grader.compare import measure
from cacheon.engine.grader.judging import Judgement
from cacheon.engine.grader.references import OverRanks, reference_for
from cacheon.engine.grader.truth import Truth, Values

_MOST_EXCHANGES = 64


class Mistake(NamedTuple):
    """What a wrong sum is right for. `old`: a contribution is of an earlier call."""

    words: str
    old: bool = False


def mistake(
    truth: Truth,
    layer: int,
    judgement: Judgement,
    values: Values,
    earlier: Sequence[Values],
) -> Mistake | None:
    """Which mistake explains a wrong answer; None where none does, and where the slot sums
    over no ranks. `earlier` are the inputs of earlier calls, the last one first."""
    reference, answers = reference_for(truth.slot.name), judgement.answers
    if not isinstance(reference, OverRanks) or answers is None or judgement.fault != "value":
        return None
    case = judgement.case
    inputs = {**values, **truth.weights(case, layer)}
    parts = reference.contributions(inputs, case.scalars, case)
    olds = [
        reference.contributions({**old, **truth.weights(case, layer)}, case.scalars, case)
        for old in earlier
    ]
    actual = answers.output.cells(answers.rows)[judgement.row].unsqueeze(0)
    for total, found in _sums(parts, olds, judgement.rank):
        expected = reference.whole(total, inputs, case.scalars, case)[judgement.name]
        measured, _ = measure(truth.slot, case, expected.unsqueeze(0), actual)
        if measured[0].ok:
            return found
    return None


def _sums(
    parts: torch.Tensor, olds: Sequence[torch.Tensor], own: int
) -> Iterator[tuple[torch.Tensor, Mistake]]:
    """Sums that somebody might make, and what is wrong with each; the likelier first."""
    total, ranks = parts.sum(0), range(len(parts))
    alone = f"rank {own}'s own contribution alone"
    if len(parts) == 2:
        alone += f", without rank {1 - own}'s"
    yield parts[own], Mistake(alone)
    for rank in ranks:
        yield total - parts[rank], Mistake(f"the sum without rank {rank}'s contribution")
        yield total + parts[rank], Mistake(f"the sum with rank {rank}'s contribution twice")
    yield total / len(parts), Mistake("the mean over the ranks, not their sum")
    for old in olds:
        for rank in ranks:
            words = f"the sum with rank {rank}'s contribution to an earlier call"
            yield total - parts[rank] + old[rank], Mistake(words, old=True)
    pairs = [(one, other) for one in ranks for other in ranks if one != other]
    for one, other in pairs[:_MOST_EXCHANGES]:
        words = f"the sum with rank {other}'s contribution in the place of rank {one}'s"
        yield total - parts[one] + parts[other], Mistake(words)
