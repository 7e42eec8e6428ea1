"""Cases to examine: as published, jittered and small."""

from collections.abc import Iterator

import pytest
import torch

from cacheon.contract.case import Case
from cacheon.contract.coverage import build_case, cases_for
from cacheon.contract.descriptor import Context
from cacheon.contract.domain import Domain
from cacheon.contract.slots import SLOTS
from cacheon.engine.grader.draws import DrawKey, Extreme, draw_inputs, draw_weights
from cacheon.engine.grader.references import reference_for

DTYPES = ("bfloat16", "float16", "float32")
NAMES = tuple(name for name, slot in SLOTS.items() if slot.kind != "collective")

AFFORDABLE = {"cpu": 1 << 21, "cuda": 1 << 26}
"""Elements of one call that a test may have."""

DEVICES = ("cpu", pytest.param("cuda", marks=pytest.mark.gpu))


def context(dtype: str) -> Context:
    return Context(dtype=dtype, architecture="sm90", graph_mode="cuda_graph")


def case_of(name: str, dtype: str = "float32", causal: bool = True, **dims: int) -> Case:
    choices = {"causal": causal} if name == "attention.sdpa" else {}
    if name == "attention.msa_block_score":
        dims = {"block": 128, **dims}
    slot = SLOTS[name]
    return build_case(slot, "default", dims, choices, context(dtype), Domain(), "catalogue")


def small_cases(name: str, dtype: str, seed: int) -> tuple[Case, ...]:
    """What a CPU is given by default: jittered, small."""
    slot = SLOTS[name]
    return cases_for(slot, "default", Domain(), context(dtype), seed=seed, small=True).cases


def published_cases(name: str, dtype: str, device: str = "cpu") -> Iterator[Case]:
    """The catalogue itself, where affordable."""
    for shape in SLOTS[name].catalogue:
        causal = shape.choices.get("causal", True)
        case = case_of(name, dtype, causal, **shape.dims)
        if sum(tensor.span for tensor in case.tensors) <= AFFORDABLE[device]:
            yield case


def key_of(case: Case, seed: int, turn: int, where: str = "A") -> DrawKey:
    return DrawKey(seed, case.slot, case.label, where, turn)


def drawn(
    case: Case,
    seed: int,
    turn: int,
    extreme: Extreme = "any",
    where: str = "A",
    device: str = "cpu",
) -> dict[str, torch.Tensor]:
    """Weights and activations of one call."""
    slot = SLOTS[case.slot]
    weights = draw_weights(slot, case, 0, seed, device)
    key = key_of(case, seed, turn, where)
    return {**weights, **draw_inputs(slot, case, weights, key, extreme, device)}


def expected(case: Case, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    return reference_for(case.slot)(inputs, case.scalars, case)["out"]
