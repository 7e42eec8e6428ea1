"""`slots`: what can be asked of a kernel, from the contract alone."""

import ast

from cacheon.contract.case import Case
from cacheon.contract.coverage import build_case
from cacheon.contract.descriptor import Context
from cacheon.contract.domain import Domain
from cacheon.contract.slots import SLOTS, slot
from cacheon.contract.slots.model import ROW_ERROR, TOLERANCE, Slot
from cacheon.records.strict import Record
from cacheon.workflows.examples import good_example

_CONTEXT = Context(dtype="bfloat16", architecture="sm90", graph_mode="cuda_graph")
"""The published shapes are shown for one context; `verify` uses the run's own."""


class Contract(Record):
    """A slot, with the numbers that decide and its catalogue as concrete calls.

    `tolerance`: atol = rtol by run dtype. `row_error`: largest relative L2 error of a
    row, a head or a 64-column tile. `cases` are the catalogue before jitter, in bfloat16.
    `meaning`: what the shipped plain kernel says of each of its functions."""

    slot: Slot
    tolerance: dict[str, float]
    row_error: dict[str, float]
    cases: tuple[Case, ...]
    meaning: dict[str, str]


def list_slots() -> tuple[Slot, ...]:
    """Every slot, in the order of the specification."""
    return tuple(SLOTS.values())


def contract_of(name: str) -> Contract:
    """The whole contract of a slot. Raises InputError, with near names, where there is
    none."""
    found = slot(name)
    return Contract(
        slot=found,
        tolerance=TOLERANCE,
        row_error=ROW_ERROR,
        cases=tuple(
            build_case(found, "default", shape.dims, shape.choices, _CONTEXT, Domain(), "catalogue")
            for shape in found.catalogue
        ),
        meaning=_meaning(found),
    )


def _meaning(slot: Slot) -> dict[str, str]:
    """Docstrings of the slot's plain example, by function."""
    example = good_example(slot.name)
    if example is None:
        return {}
    name = slot.name.partition(".")[2]
    module = ast.parse((example / "kernels" / f"{name}.py").read_text())
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    return {each.name: ast.get_docstring(each) or "" for each in functions}
