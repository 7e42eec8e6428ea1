"""What is put in and what must come out: draws and references, in the grader's own memory."""

from collections.abc import Mapping, Sequence

import torch

from cacheon.contract.case import Case
from cacheon.contract.slots import slot as slot_of
from cacheon.engine.grader.compare import differs
from cacheon.engine.grader.draws import DrawKey, Extreme, draw_inputs, draw_weights, poison_inputs
from cacheon.engine.grader.layout import LAYERS, weights_key
from cacheon.engine.grader.questions import Question
from cacheon.engine.grader.references import reference_for

Values = Mapping[str, torch.Tensor]


_TELLING = 0.01
"""Share of an answer that must change between two rounds."""


def of_rank(case: Case, values: Values, rank: int, behind: int = 0) -> Values:
    """What one rank is given of values whose rank-varying tensors have their ranks first, or
    behind so many other dimensions."""
    return {
        name: value.select(behind, rank) if case.tensor(name).rank_varying else value
        for name, value in values.items()
    }


class Bank:
    """Drawn values and expected answers, stacked.

    `values`: name to (entries, *shape), (entries, ranks, *shape) where they differ by rank.
    `expected`: for each layer, output name to
    (entries, *shape), in float32 or better."""

    def __init__(self, values: Values, expected: Sequence[Values]) -> None:
        self.values = values
        self.expected = expected
        self.entries = next(iter(values.values())).shape[0]


class Truth:
    """Draws for one slot; reproducible from the seed."""

    def __init__(self, slot: str, seed: int, device: torch.device) -> None:
        self.slot = slot_of(slot)
        self.seed = seed
        self.device = device
        self._weights: dict[tuple[object, int], Values] = {}
        self._reference = reference_for(slot)

    def weights(self, case: Case, layer: int) -> Values:
        """The layer's weights, (the slot's shapes): the same for every case that has
        weights of these shapes."""
        key = (weights_key(case), layer)
        if key not in self._weights:
            self._weights[key] = draw_weights(self.slot, case, layer, self.seed, self.device)
        return self._weights[key]

    def values(self, case: Case, layer: int, where: str, turn: int, extreme: Extreme) -> Values:
        """Every activation of one call, on every rank."""
        key = DrawKey(
            seed=self.seed, slot=self.slot.name, case=case.label, buffer_set=where, round=turn
        )
        weights = self.weights(case, layer)
        return draw_inputs(self.slot, case, weights, key, extreme, self.device)

    def expected(self, case: Case, layer: int, values: Values) -> Values:
        """The reference's answer."""
        inputs = {**values, **self.weights(case, layer)}
        return self._reference(inputs, case.scalars, case)

    def poison(self, case: Case, where: str, turn: int) -> Values:
        """Valid but other values for the inputs that NaN cannot poison."""
        key = DrawKey(
            seed=self.seed, slot=self.slot.name, case=case.label, buffer_set=where, round=turn
        )
        return poison_inputs(self.slot, case, key, self.device)

    def tells(self, case: Case, last: Values, now: Values) -> Question[bool]:
        """Whether an answer left over from `last` would be seen to be wrong for `now`."""
        shares = yield [differs(self.slot, case, last[name], now[name]) for name in now]
        return any(share > _TELLING for (share,) in shares)

    def bank(self, case: Case, where: str, entries: int) -> Bank:
        """`entries` draws with the answers of every layer."""
        drawn = [
            self.values(case, turn % LAYERS, f"{where}:bank", turn, "any")
            for turn in range(entries)
        ]
        values = {name: torch.stack([one[name] for one in drawn]) for name in drawn[0]}
        expected = []
        for layer in range(LAYERS):
            answers = [self.expected(case, layer, one) for one in drawn]
            expected.append({n: torch.stack([a[n] for a in answers]) for n in answers[0]})
        return Bank(values, expected)
