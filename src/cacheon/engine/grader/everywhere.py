"""One call's buffers on every rank of a group. A process of its own is a group of one."""

import time
from collections.abc import Iterable

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.bits import same_bits
from cacheon.engine.grader.buffers import Answers, CallBuffers, put
from cacheon.engine.grader.judging import Judgement
from cacheon.engine.grader.truth import Values, of_rank

_SETTLES = 0.05
"""Seconds for work that was not waited for to show itself."""


class Everywhere:
    """What is drawn is for all ranks: each is given its own part of it, the ranks of a
    rank-varying tensor being its first dimension."""

    def __init__(self, ranks: Iterable[CallBuffers]) -> None:
        self.ranks = tuple(ranks)

    @property
    def case(self) -> Case:
        return self.ranks[0].case

    @property
    def rows(self) -> int:
        """The depth of the ring."""
        return self.ranks[0].rows

    def values_of(self, rank: int, values: Values) -> Values:
        return of_rank(self.case, values, rank)

    def poison(self, integers: Values) -> None:
        """Poison inputs, outputs and log everywhere; `integers` are the same on every rank."""
        for buffers in self.ranks:
            buffers.poison(integers)

    def stage(self, values: Values) -> None:
        """Put values into the first row of every staging ring."""
        for rank, buffers in enumerate(self.ranks):
            buffers.stage(self.values_of(rank, values))

    def stage_everywhere(self, values: Values) -> None:
        """Put the same values into every row of every staging ring."""
        for rank, buffers in enumerate(self.ranks):
            buffers.stage_everywhere(self.values_of(rank, values))

    def stage_rows(self, bank: Values, picks: torch.Tensor) -> None:
        """Fill every row: row j takes entry picks[j] of the bank."""
        for rank, buffers in enumerate(self.ranks):
            buffers.stage_rows(of_rank(self.case, bank, rank, behind=1), picks)

    def lay(self, values: Values) -> None:
        """Put values where the entry itself reads them."""
        for rank, buffers in enumerate(self.ranks):
            own = self.values_of(rank, values)
            for name, tensor in buffers.inputs.items():
                put(tensor, own[name])

    def collect(self) -> list[list[Answers]]:
        """Of each rank, every output copied once into memory of our own."""
        return [buffers.collect() for buffers in self.ranks]

    def outputs_untouched(self) -> bool:
        """Whether every output is as it was when it was poisoned."""
        return all(
            bool(same_bits(output.region, output.fresh))
            for buffers in self.ranks
            for output in buffers.outputs.values()
        )

    def still_move(self, judgement: Judgement) -> bool:
        """Whether a wrong output has changed since it was collected: on a CPU, work that
        nobody waits for goes on in a thread of the group's."""
        time.sleep(_SETTLES)
        answers = judgement.answers
        if answers is None:
            return False
        now = self.ranks[judgement.rank].outputs[answers.output.tensor.name].region
        return not torch.equal(now.to(answers.settled.device), answers.settled)

    def agree(self) -> bool:
        """Whether the first answer in the log is bit for bit the same on every rank."""
        first, *others = [
            [answers.output.cells(answers.rows[:1]) for answers in buffers.collect()]
            for buffers in self.ranks
        ]
        return all(
            bool(same_bits(one, same))
            for other in others
            for one, same in zip(other, first, strict=True)
        )

    def first_rows(self) -> torch.Tensor:
        """uint8 (bytes,): the first row of every log, one rank and output after the other."""
        return torch.cat([a.rows[0] for buffers in self.ranks for a in buffers.collect()])
