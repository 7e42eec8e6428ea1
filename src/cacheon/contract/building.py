"""One call made concrete: shapes, strides, scalars and descriptor from dimensions."""

import math
from collections.abc import Mapping
from typing import Literal

from cacheon.contract.case import Case, ConcreteTensor
from cacheon.contract.descriptor import Context, describe, with_derived
from cacheon.contract.domain import Domain
from cacheon.contract.slots.expression import evaluate, whole
from cacheon.contract.slots.model import Slot, TensorSpec

Origin = Literal["catalogue", "boundary", "larger"]
_ITEM_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "int32": 4}


def build_case(
    slot: Slot,
    variant: str,
    dims: Mapping[str, int],
    choices: Mapping[str, bool],
    context: Context,
    domain: Domain,
    origin: Origin,
) -> Case:
    """One call with all its concrete shapes; `dims` are base dimensions."""
    known = with_derived(slot, dims)
    descriptor = describe(slot, known, context)
    scalars: dict[str, bool | int | float] = {
        scalar.name: choices.get(scalar.name, evaluate(scalar.expression, known))
        for scalar in slot.scalars
    }
    label = " ".join(f"{field}={descriptor[field]}" for field in _label_fields(slot))
    label += "".join(f" {name}={str(value).lower()}" for name, value in choices.items())
    return Case(
        slot=slot.name,
        variant=variant,
        dims=known,
        scalars=scalars,
        tensors=tuple(_concrete(tensor, known, context.dtype) for tensor in slot.tensors),
        descriptor=descriptor,
        origin=origin,
        applicable=domain.admits(descriptor),
        label=label,
    )


def base_of(slot: Slot, case: Case) -> dict[str, int]:
    """The base dimensions of a case: with `choices_of`, what builds it again."""
    return {name: n for name, n in case.dims.items() if name not in slot.derived}


def choices_of(slot: Slot, case: Case) -> dict[str, bool]:
    """What a case chose where the catalogue leaves a choice, such as causal."""
    names = dict.fromkeys(name for shape in slot.catalogue for name in shape.choices)
    return {name: bool(case.scalars[name]) for name in names}


def _label_fields(slot: Slot) -> list[str]:
    """One field for each expression, constants left out: `last_dim` repeats another."""
    seen: set[str] = set()
    fields = []
    for field, expression in slot.fields.items():
        if expression in seen or expression.isdigit() or field == "last_dim":
            continue
        seen.add(expression)
        fields.append(field)
    return fields


def _concrete(spec: TensorSpec, dims: Mapping[str, int], dtype: str) -> ConcreteTensor:
    shape = tuple(whole(expression, dims) for expression in spec.shape)
    strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    if spec.pitch is not None:
        strides = (whole(spec.pitch, dims), 1)
    span = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    return ConcreteTensor(
        name=spec.name,
        role=spec.role,
        dtype=dtype if spec.dtype == "run" else spec.dtype,
        shape=shape,
        strides=strides,
        span=span,
        dynamic=spec.dynamic,
        rank_varying=spec.rank_varying,
    )


def work_of(case: Case) -> int:
    """Bytes of the inputs and outputs of one call."""
    return sum(tensor.span * _ITEM_BYTES[tensor.dtype] for tensor in case.tensors)


def valid(slot: Slot, dims: Mapping[str, int]) -> bool:
    """Whether base dimensions respect the slot's own constraints."""
    known = with_derived(slot, dims)
    if any(value < 1 for value in dims.values()):
        return False
    if any(known[a] > known[b] for a, b in slot.limits):
        return False
    return all(known[name] % known[of] == 0 for name, of in slot.multiples.items())
