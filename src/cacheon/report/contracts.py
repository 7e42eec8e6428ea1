"""Slots in words: the list, and the whole contract of one."""

from collections.abc import Iterator, Mapping, Sequence

from cacheon.contract.case import Case
from cacheon.contract.slots.model import Slot, TensorSpec
from cacheon.report.line import Line


def slot_lines(slots: Sequence[Slot]) -> Iterator[Line]:
    """One line a slot: name, kind, entry, title."""
    width = max(len(slot.name) for slot in slots)
    for slot in slots:
        yield [
            ("bold", f"{slot.name:<{width}}"),
            ("dim", f"  {slot.kind:<10}"),
            ("", f"  {slot.title}"),
        ]
    yield [("dim", "`cacheon slots NAME` shows a whole contract")]


def contract_lines(
    slot: Slot,
    tolerance: Mapping[str, float],
    row_error: Mapping[str, float],
    cases: Sequence[Case],
    meaning: Mapping[str, str],
) -> Iterator[Line]:
    """Signature, meaning, tensors, scalars, what counts as right, descriptor, catalogue."""
    yield [("bold", slot.name), ("dim", f"  {slot.kind}"), ("", f"  {slot.title}")]
    yield from _signature(slot)
    yield [("bold", "meaning")]
    for function, words in meaning.items():
        for number, line in enumerate(filter(None, words.splitlines())):
            called = "" if number or len(meaning) == 1 else f"{function}: "
            yield [("", f"  {called}{line}")]
    yield [("bold", "tensors")]
    for tensor in slot.tensors:
        yield [("", f"  {tensor.name:<13} {_shape(tensor):<24} {_facts(tensor)}")]
    if slot.scalars:
        yield [("bold", "scalars")]
        chosen = {name for shape in slot.catalogue for name in shape.choices}
        for scalar in slot.scalars:
            value = "true or false, by case" if scalar.name in chosen else scalar.expression
            yield [("", f"  {scalar.name:<13} {value}")]
    yield from _right(slot, tolerance, row_error)
    yield from _descriptor(slot)
    yield [("bold", "cases")]
    for case in cases:
        yield [("", f"  {case.label}")]
    jittered = ", ".join(slot.counts)
    yield [("dim", f"  {jittered} jittered from the run's seed; a domain's own ends are added")]


def _signature(slot: Slot) -> Iterator[Line]:
    yield [("bold", "entry")]
    if slot.prepare:
        yield [("", f"  prepare({', '.join(slot.prepare)}) -> prepared, once when loaded")]
    yield [("", f"  entry({', '.join(slot.entry)}), in this order; returns nothing")]
    yield [("", "  writes every element of every output in place, leaves inputs unchanged")]


def _shape(tensor: TensorSpec) -> str:
    inner = ", ".join(tensor.shape)
    return f"({inner},)" if len(tensor.shape) == 1 else f"({inner})"


def _facts(tensor: TensorSpec) -> str:
    facts = [tensor.role, "run dtype" if tensor.dtype == "run" else tensor.dtype]
    if tensor.dynamic:
        facts.append("changes between replays")
    if tensor.rank_varying:
        facts.append("differs by rank")
    if tensor.pitch is not None:
        facts.append(f"row pitch {tensor.pitch}")
    return ", ".join(facts)


def _right(
    slot: Slot, tolerance: Mapping[str, float], row_error: Mapping[str, float]
) -> Iterator[Line]:
    rule = slot.correctness
    match rule.rule:
        case "allclose":
            words = "every element within tolerance"
        case "matched_ratio":
            words = f"at least {rule.ratio:g} of the elements within tolerance"
        case "topk_overlap":
            words = f"the {rule.k} best of a row overlap by at least {rule.ratio:g} in the mean"
    yield [("bold", "right")]
    yield [("", f"  {words}")]
    yield [("", f"  tolerance (atol = rtol): {_by_dtype(tolerance)}")]
    yield [("", f"  relative L2 error of a row, head or 64-column tile: {_by_dtype(row_error)}")]


def _by_dtype(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{dtype} {number:g}" for dtype, number in numbers.items())


def _descriptor(slot: Slot) -> Iterator[Line]:
    yield [("bold", "descriptor")]
    fields = " ".join(f"{field}={text.replace(' ', '')}" for field, text in slot.fields.items())
    yield [("", f"  {fields}")]
    for name, expression in slot.derived.items():
        yield [("", f"  {name} = {expression}")]
    if slot.context:
        fixed = " ".join(f"{name}={value}" for name, value in slot.context.items())
        yield [("", f"  always {fixed}")]
    for name, of in slot.multiples.items():
        yield [("", f"  {name} is a multiple of {of}")]
    for small, large in slot.limits:
        yield [("", f"  {small} <= {large}")]
