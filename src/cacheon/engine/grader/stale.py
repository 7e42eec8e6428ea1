"""A wrong answer that is right for what an earlier call was given: for another layer's
weights, or for one input's earlier values. Nothing here decides whether a case fails."""

from collections.abc import Iterator, Sequence

from cacheon.contract.case import Case
from cacheon.engine.grader.compare import measure
from cacheon.engine.grader.judging import Judgement
from cacheon.engine.grader.layout import LAYERS
from cacheon.engine.grader.truth import Truth, Values


def stale(
    truth: Truth, layer: int, judgement: Judgement, values: Values, earlier: Sequence[Values] = ()
) -> str:
    """What a wrong value follows instead of what its own call was given; empty where nothing
    of this kind explains it. `layer` is whose weights the call was made with, `earlier` are
    the inputs of earlier calls, the last one first."""
    answers = judgement.answers
    if answers is None or judgement.fault != "value":
        return ""
    actual = answers.output.cells(answers.rows)[judgement.row].unsqueeze(0)
    case, name = judgement.case, judgement.name
    for words, expected in _others(truth, case, layer, values, earlier):
        measured, _ = measure(truth.slot, case, expected[name].unsqueeze(0), actual)
        if measured[0].ok:
            return words
    return ""


def _others(
    truth: Truth, case: Case, layer: int, values: Values, earlier: Sequence[Values]
) -> Iterator[tuple[str, Values]]:
    if truth.weights(case, layer):
        for other in range(LAYERS):
            if other != layer:
                yield f"layer {other}'s weights", truth.expected(case, other, values)
    for old in earlier:
        for name in values:
            mixed = {**values, name: old[name]}
            yield f"what `{name}` was in an earlier call", truth.expected(case, layer, mixed)
