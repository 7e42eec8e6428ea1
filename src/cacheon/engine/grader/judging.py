"""Is an answer right? Guards, inputs, snapshot and values of one call, on our own copy."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from cacheon.contract.case import Case
from cacheon.contract.slots.model import Slot
from cacheon.engine.grader.bits import same_bits
from cacheon.engine.grader.buffers import Answers, CallBuffers
from cacheon.engine.grader.compare import Measured, gauge, verdicts
from cacheon.engine.grader.questions import Question

Values = Mapping[str, torch.Tensor]
_LARGE = 4 << 20
"""Bytes of an output from which its rows are compared one by one."""


class Judgement(NamedTuple):
    """What is wrong with one call's answers, if anything.

    `row` is the ring row that is wrong, -1 for what concerns them all. `answers`,
    `expected` and `wrong` (bool, a cell) let the attribution look closer. `rank` is whose
    answers they are, `fine` the ranks whose answers are right."""

    case: Case
    ok: bool
    fault: str
    """One of: input, guard, early, value; empty where nothing is wrong."""
    name: str
    row: int
    measured: Measured | None
    max_abs: float
    max_relative: float
    answers: Answers | None
    expected: torch.Tensor | None
    wrong: dict[str, torch.Tensor]
    rank: int = 0
    fine: frozenset[int] = frozenset()

    @classmethod
    def right(cls, case: Case) -> "Judgement":
        return cls(case, True, "", "", -1, None, 0.0, 0.0, None, None, {})


def as_right_as(
    buffers: CallBuffers, known: Sequence[Sequence[torch.Tensor]], last_values: Values
) -> Question[bool]:
    """Whether a log holds, bit for bit and guards included, rows that were found right
    before: `known` has, for each output, one uint8 (nbytes) a row. Inputs and the settled
    output are looked at as `judge` does."""
    flags = [buffers.inputs_unchanged(last_values)]
    for output, rows in zip(buffers.outputs.values(), known, strict=True):
        count = len(rows)
        log = output.log[:count].view(torch.int64).to(buffers.home)
        region = output.region.view(torch.int64).to(buffers.home)
        if output.region.numel() >= _LARGE:
            # Side by side they would cost as much again.
            flags += [
                (log[i] == row.view(torch.int64)).all().reshape(1) for i, row in enumerate(rows)
            ]
        else:
            flags.append((log == torch.stack(tuple(rows)).view(torch.int64)).all().reshape(1))
        flags.append((region == log[count - 1]).all().reshape(1))
    told = yield flags
    return all(all(flag) for flag in told)


def judge(
    slot: Slot,
    case: Case,
    buffers: CallBuffers,
    collected: Sequence[Answers],
    expected: Values,
    last_values: Values,
    rows: int,
) -> Question[Judgement]:
    """Judge the first `rows` rows of a call's log, on the copy that was `collected`.

    `expected` maps output to (rows, *shape); `last_values` is what the last row's inputs
    held. 1. The inputs are bit for bit what was put in. 2. Nothing outside the output's
    cells was written, in the output or in any snapshot. 3. The output, once the device was
    idle, is what the last snapshot holds: else a consumer on the caller's stream read too
    early. 4. Every snapshot is right."""
    wanted = [buffers.inputs_unchanged(last_values)]
    masks: dict[str, torch.Tensor] = {}
    for answers in collected:
        name, logged = answers.output.tensor.name, answers.rows[:rows]
        gauged, masks[name] = gauge(slot, case, expected[name], answers.output.cells(logged))
        wanted += [
            same_bits(answers.settled, logged[-1]),
            answers.output.guards_intact(logged),
            answers.output.guards_intact(answers.settled.unsqueeze(0)),
            gauged,
        ]
    told = yield wanted
    for name, unchanged in zip(buffers.inputs, told[0], strict=True):
        if not unchanged:
            return _wrong(case, "input", name, rows - 1, collected[0], None)
    measured_all: list[tuple[Answers, list[Measured]]] = []
    worst_abs, worst_relative = 0.0, 0.0
    for number, answers in enumerate(collected):
        name = answers.output.tensor.name
        settled, intact, final, numbers = told[1 + 4 * number : 5 + 4 * number]
        if not all(intact) or not final[0]:
            row = rows - 1 if all(intact) else intact.index(0)
            return _wrong(case, "guard", name, row, answers, expected[name][row])
        cells = answers.output.cells(answers.rows[:rows])
        measured_all.append((answers, verdicts(slot, case, cells, numbers)))
        if not settled[0]:
            return _wrong(case, "early", name, rows - 1, answers, expected[name][rows - 1])
    for answers, measured in measured_all:
        for row, one in enumerate(measured):
            worst_abs = max(worst_abs, one.max_abs)
            worst_relative = max(worst_relative, one.max_relative)
            if not one.ok:
                name = answers.output.tensor.name
                bad = _wrong(case, "value", name, row, answers, expected[name][row])
                return bad._replace(
                    measured=one,
                    max_abs=one.max_abs,
                    max_relative=one.max_relative,
                    wrong={name: masks[name]},
                )
    return Judgement(case, True, "", "", -1, None, worst_abs, worst_relative, None, None, masks)


def worst_of(judgements: Sequence[Judgement]) -> Judgement:
    """Of one a rank, the first that is wrong, a wrong value before what changed after its
    snapshot; where none is, what is true of them all, (rows, ranks, *shape) for the cells."""
    if len(judgements) == 1:
        return judgements[0]
    fine = frozenset(rank for rank, each in enumerate(judgements) if each.ok)
    wrong = [rank for rank in range(len(judgements)) if rank not in fine]
    wrong.sort(key=lambda rank: judgements[rank].fault == "early")
    if wrong:
        return judgements[wrong[0]]._replace(rank=wrong[0], fine=fine)
    masks = {
        name: torch.stack([each.wrong[name] for each in judgements], dim=1)
        for name in judgements[0].wrong
    }
    return judgements[0]._replace(
        max_abs=max(each.max_abs for each in judgements),
        max_relative=max(each.max_relative for each in judgements),
        wrong=masks,
        fine=fine,
    )


def _wrong(
    case: Case, fault: str, name: str, row: int, answers: Answers, expected: torch.Tensor | None
) -> Judgement:
    return Judgement(case, False, fault, name, row, None, 0.0, 0.0, answers, expected, {})
