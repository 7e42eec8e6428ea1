"""From what was seen to the rule that names it. Nothing here decides whether a case
fails: that is settled before; here it is said in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch

from cacheon.contract.slots.model import Slot
from cacheon.engine.grader.blamed import rule_of_line
from cacheon.engine.grader.compare import measure
from cacheon.engine.grader.contributions import Mistake
from cacheon.engine.grader.judging import Judgement
from cacheon.engine.grader.session import Lost, Refused
from cacheon.engine.outcome import Finding, OrderName, Place, Stage
from cacheon.engine.protocol import Done, Ended, Where
from cacheon.engine.slab import GUARD, GUARD_BYTE
from cacheon.rules.catalogue import RULES

Values = Mapping[str, torch.Tensor]
_NEEDS_CUDA = "CG807"

_SAID_BY_CAPTURE = (
    (("Cannot copy between CPU and CUDA tensors during CUDA graph capture",), "CG102"),
    (("unjoined work", "UnjoinedWork"), "CG401"),
    (("compil", "nvcc", "autotun", "Inductor"), "CG502"),
)
"""Words of an exception that leave no doubt, whatever the line."""


@dataclass
class Evidence:
    """What surrounds a wrong answer.

    `earlier` are expected answers of other calls and rounds, oldest first; `replayed` those
    of this call's rounds before, the last one first; `lag` says by how many replays a burst
    is behind. `elsewhere`: an output that this call was not given has
    changed. `early`: the same call is right once its inputs lie ready beforehand.
    `mistake`: which sum over ranks the answer is right for; `stale`: what of an earlier call,
    asked for only where nothing else explains it."""

    stage: Stage
    order: OrderName
    entry: str
    returned: bool = False
    elsewhere: bool = False
    early: bool = False
    call: int = -1
    passed: int = 0
    perturbed: bool = False
    earlier: Sequence[Values] = field(default_factory=list)
    replayed: Sequence[Values] = field(default_factory=list)
    lag: int = 0
    context: str = ""
    mistake: Mistake | None = None
    stale: Callable[[], str] = str
    ranks: int = 1


def place_of(where: Where | None) -> Place | None:
    if where is None:
        return None
    return Place(file=where.file, line=where.line, function=where.function, source=where.source)


def from_refusal(refusal: Refused, order: OrderName) -> Finding:
    """An exception that a command met."""
    reply, stage = refusal.reply, refusal.stage
    text = (f"{reply.kind}: {reply.message}" if reply.kind else reply.message)[:600]
    if refusal.rank >= 0:
        text = f"only rank {refusal.rank}: {text}"
    return Finding(
        rule=_rule_said(refusal) or _rule_of_exception(refusal),
        stage=stage,
        message=text,
        place=place_of(reply.where),
        order=order,
    )


def _rule_said(refusal: Refused) -> str:
    """The rule that the worker names, if there is one of that id. Advice is none: whatever
    ends a step is a failure."""
    rule = refusal.reply.rule
    return rule if rule in RULES and rule != _NEEDS_CUDA else ""


def _rule_of_exception(refusal: Refused) -> str:
    reply, stage = refusal.reply, refusal.stage
    if stage == "load":
        return "CG806"
    if stage == "warmup":
        return "CG501"
    if stage not in ("capture",):
        return "CG801"
    text = f"{reply.kind}: {reply.message}"
    for fragments, rule in _SAID_BY_CAPTURE:
        if any(fragment in text for fragment in fragments):
            return rule
    shown = rule_of_line(reply.where.source) if reply.where else ""
    if "process group" in text or shown == "CG601":
        return "CG601"
    if shown == "CG105":
        return shown
    if "AcceleratorError" in reply.kind or "CUDA error" in text:
        return shown or ("CG101" if reply.where else "CG505")
    return "CG801" if reply.where else "CG505"


_GRAPH_RULES = {
    "host": ("CG404", "a host node: the graph would call back into the CPU"),
    "allocation": ("CG503", "an allocation node: the graph would allocate at each replay"),
    "free": ("CG503", "a free node: the graph would free memory at each replay"),
    "conditional": ("CG506", "a conditional node: what runs would depend on device values"),
    "host copy": ("CG305", "a copy that reads or writes host memory"),
}


def from_graph(done: Done, order: OrderName, entry: str) -> Finding | None:
    """What a captured graph shows before it is ever replayed."""
    for thing in done.suspicious:
        rule, words = _GRAPH_RULES.get(thing, ("CG505", thing))
        return Finding(rule=rule, stage="capture", message=f"the graph holds {words}", order=order)
    if done.compiled:
        message = f"{', '.join(done.compiled)} compiled during capture, which follows warm-up"
        return Finding(rule="CG502", stage="capture", message=message, order=order)
    empty = [number for number, nodes in enumerate(done.nodes) if nodes == 0]
    if empty:
        message = f"{entry} added no node to the graph (call {empty[0]} of {len(done.nodes)})"
        return Finding(rule="CG402", stage="capture", message=message, order=order)
    return None


def from_judgement(slot: Slot, judgement: Judgement, evidence: Evidence) -> Finding:
    """A wrong answer."""
    rule, words = _explain(slot, judgement, evidence)
    prefix = f"rank {judgement.rank}: " if evidence.ranks > 1 else ""
    if judgement.fine and len(judgement.fine) == evidence.ranks - 1:
        prefix = f"only {prefix}"
    prefix += f"{evidence.context}: " if evidence.context else ""
    if evidence.call >= 0:
        replays = f" after {evidence.passed} right ones" if evidence.passed else ""
        prefix += f"call {evidence.call} of the graph{replays}: "
    return Finding(
        rule=rule, stage=evidence.stage, message=(prefix + words)[:900], order=evidence.order
    )


def _explain(slot: Slot, judgement: Judgement, evidence: Evidence) -> tuple[str, str]:
    name = judgement.name
    if judgement.fault == "input":
        return "CG202", f"input {name} is not what it was before the call"
    if judgement.fault == "guard":
        return "CG204", _broken_guard(judgement)
    poison = _poisoned(judgement)
    if judgement.fault == "early":
        return "CG401", (f"a consumer on the caller's stream read {name} before it was complete")
    if poison is not None:
        # Counted, not averaged: a mean in float32 of many millions of ones is not one.
        left = int(poison.sum())
        if left == poison.numel():
            return _nothing_written(name, evidence)
        if left:
            share = 100 * left / poison.numel()
            return "CG203", f"{share:.1f} % of {name} still poisoned, {pattern(poison)}"
    if evidence.early:
        return (
            "CG401",
            f"{name} is right only where the inputs lie ready before the call: work "
            "on a stream that does not wait for the caller's",
        )
    return _wrong_values(slot, judgement, evidence)


def _nothing_written(name: str, evidence: Evidence) -> tuple[str, str]:
    if evidence.elsewhere:
        return "CG205", f"nothing was written to {name}, but an output of an earlier call changed"
    if evidence.returned:
        return "CG206", f"{evidence.entry} returned a value and wrote nothing to {name}"
    return "CG201", f"nothing was written to {name}"


def _wrong_values(slot: Slot, judgement: Judgement, evidence: Evidence) -> tuple[str, str]:
    measured = judgement.measured
    words = f"{judgement.name}: {measured.reason}" if measured else judgement.name
    actual = _answer(judgement)
    if actual is not None:
        if evidence.lag:
            return "CG303", f"{words}; it is the right answer of {_before(evidence.lag)}"
        for number, values in enumerate(evidence.replayed, 1):
            if _alike(slot, judgement, actual, values):
                return "CG303", f"{words}; it is the right answer of {_before(number)}"
        for values in evidence.earlier:
            if _alike(slot, judgement, actual, values):
                return "CG301", f"{words}; it is the right answer for earlier inputs"
    if evidence.mistake is not None:
        rule = "CG301" if evidence.mistake.old else "CG603"
        return rule, f"{words}; it is {evidence.mistake.words}"
    if old := evidence.stale():
        return "CG301", f"{words}; it is the right answer for {old}"
    if evidence.stage in ("replay", "perturb", "burst", "soak"):
        if evidence.stage == "soak":
            return "CG701", words
        if evidence.perturbed:
            return "CG302", f"{words}; it was right before memory was disturbed"
        return "CG304", words
    if measured and measured.nonfinite:
        return "CG803", words
    if measured and measured.structural:
        return "CG804", words
    return "CG802", words


def _before(number: int) -> str:
    return "the replay before" if number == 1 else f"{number} replays before"


def _alike(slot: Slot, judgement: Judgement, actual: torch.Tensor, values: Values) -> bool:
    """Whether an answer would be right for these other expected values."""
    expected = values[judgement.name].unsqueeze(0)
    measured, _ = measure(slot, judgement.case, expected, actual.unsqueeze(0))
    return measured[0].ok


def _answer(judgement: Judgement) -> torch.Tensor | None:
    if judgement.answers is None:
        return None
    return judgement.answers.output.cells(judgement.answers.rows)[judgement.row]


def _poisoned(judgement: Judgement) -> torch.Tensor | None:
    """bool (shape): cells that hold the poison's very bits."""
    answers = judgement.answers
    if answers is None or judgement.fault == "input":
        return None
    cells = answers.output.cells(answers.rows)[judgement.row]
    width = {2: torch.int16, 4: torch.int32}[cells.element_size()]
    return cells.view(width) == -1


def pattern(mask: torch.Tensor) -> str:
    """Which cells of (…, columns) a mask names, in a few words."""
    rows = mask.reshape(-1, mask.shape[-1])
    height, width = rows.shape
    by_column, by_row = rows.all(0), rows.all(1)
    any_column, any_row = rows.any(0), rows.any(1)
    if bool((by_row == any_row).all()):
        bad = any_row.nonzero().flatten().tolist()
        if bad == list(range(bad[0], height)):
            return f"the last {len(bad)} of {height} rows" if bad[0] else "every row"
        return f"row {bad[0]}" if len(bad) == 1 else f"{len(bad)} of {height} rows"
    if bool((by_column == any_column).all()):
        bad = any_column.nonzero().flatten().tolist()
        steps = {b - a for a, b in pairwise(bad)}
        if steps == {2} and len(bad) >= width // 2:
            return "every second column"
        if bad == list(range(bad[0], width)):
            return f"the last {len(bad)} of {width} columns"
        return f"{len(bad)} of {width} columns"
    return "scattered cells"


def _broken_guard(judgement: Judgement) -> str:
    answers = judgement.answers
    if answers is None:
        return f"a cell outside {judgement.name} was written"
    row = answers.rows[judgement.row]
    if bool((row[:GUARD] != GUARD_BYTE).any()):
        return f"a cell before the first of {judgement.name} was written"
    after = row[GUARD + answers.output.nbytes :]
    written = (after != GUARD_BYTE).nonzero().flatten()
    if written.numel():
        return f"a cell {int(written[0])} bytes past the last of {judgement.name} was written"
    return f"a cell in the gaps between the rows of {judgement.name} was written"


def from_parting(words: str, stage: Stage, order: OrderName) -> Finding:
    """Ranks that call different collectives."""
    message = f"the ranks do not do the same: {words}"
    return Finding(rule="CG602", stage=stage, message=message[:900], order=order)


def from_loss(lost: Lost, ended: Ended, order: OrderName) -> Finding:
    """A worker that is gone."""
    said = ended.output.strip().splitlines()
    tail = f"; it printed: {said[0][:200]}" if said else ""
    whose = "the candidate's process" if lost.rank < 0 else f"the process of rank {lost.rank}"
    if lost.how == "hung":
        return Finding(
            rule="CG602" if lost.apart else "CG104",
            stage=lost.stage,
            message=f"no answer: {lost.detail}"[:900],
            place=place_of(ended.where),
            order=order,
        )
    if lost.how == "parted":
        return from_parting(lost.detail, lost.stage, order)
    if lost.how == "died" and ended.killed:
        message = f"{whose} closed its channel and stayed"
        return Finding(rule="CG903", stage=lost.stage, message=message, order=order)
    if lost.how == "garbled":
        message = f"the worker's answer is no message: {lost.detail}"
        return Finding(rule="CG903", stage=lost.stage, message=message, order=order)
    if lost.how == "sticky":
        rule = "CG302" if lost.stage in ("perturb", "soak", "replay") else "CG901"
        message = f"the device context is lost: {lost.detail}"
        return Finding(rule=rule, stage=lost.stage, message=message[:600], order=order)
    if ended.signal >= 0:
        message = f"{whose} died by signal {ended.signal}{tail}"
        return Finding(rule="CG901", stage=lost.stage, message=message[:600], order=order)
    message = f"{whose} left with status {ended.status}{tail}"
    return Finding(rule="CG902", stage=lost.stage, message=message[:600], order=order)
