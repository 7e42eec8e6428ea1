"""Call descriptors: the facts of one call, which capability predicates are held against."""

import re
from collections.abc import Mapping

from cacheon.contract.slots.expression import whole
from cacheon.contract.slots.model import Slot
from cacheon.records.strict import Record

TEXT_FIELDS = frozenset(
    ("architecture", "dtype", "graph_mode", "layout", "model", "phase", "quant", "runtime")
)
NUMBER_FIELDS = frozenset(
    (
        "alignment",
        "batch_size",
        "block_size",
        "ep_size",
        "exp_tokens",
        "head_dim",
        "hidden_dim",
        "intermediate_dim",
        "kv_len",
        "last_dim",
        "num_experts",
        "num_kv_heads",
        "num_q_heads",
        "num_tokens",
        "page_size",
        "q_len",
        "top_k",
        "tp_size",
        "world_size",
    )
)
GIVEN_FIELDS = ("model", "runtime", "quant", "alignment", "page_size", "phase")
"""Context fields that are absent unless an arena or the command states them."""

_FIELD_SPELLINGS = {"arch": "architecture"}
_VALUE_SPELLINGS = {
    "dtype": {"bf16": "bfloat16"},
    "phase": {"extend": "prefill"},
    "graph_mode": {
        "capture": "cuda_graph",
        "graph": "cuda_graph",
        "on": "cuda_graph",
        "replay": "cuda_graph",
        "off": "eager",
    },
}
_ARCHITECTURE = re.compile(r"\Asm_?([0-9]{2,3}[a-z]?)\Z", re.IGNORECASE)


def field_name(name: str) -> str:
    """A field's own name for an accepted spelling of it."""
    return _FIELD_SPELLINGS.get(name, name)


def text_value(field: str, value: str) -> str:
    """A text value's own spelling: `SM_90` is `sm90`, `bf16` is `bfloat16`."""
    if field == "architecture":
        match = _ARCHITECTURE.match(value)
        return f"sm{match[1].lower()}" if match else value
    spellings = _VALUE_SPELLINGS.get(field)
    return value if spellings is None else spellings.get(value.lower(), value.lower())


class Context(Record, kw_only=True):
    """What a run fixes for every call. `given` holds fields that the command or an arena
    states (`GIVEN_FIELDS`)."""

    dtype: str
    architecture: str
    graph_mode: str
    tp_size: int = 1
    world_size: int = 1
    given: dict[str, str | int] = {}


def describe(slot: Slot, dims: Mapping[str, int], context: Context) -> dict[str, str | int]:
    """The descriptor of one call; `dims` holds base and derived dimensions. What the slot
    fixes (its phase, its live graph mode) wins over the context."""
    descriptor: dict[str, str | int] = {
        "dtype": context.dtype,
        "architecture": context.architecture,
        "graph_mode": context.graph_mode,
        "layout": "dense",
        "tp_size": context.tp_size,
        "world_size": context.world_size,
    }
    descriptor.update(context.given)
    descriptor.update(slot.context)
    descriptor.update({field: whole(text, dims) for field, text in slot.fields.items()})
    return descriptor


def with_derived(slot: Slot, dims: Mapping[str, int]) -> dict[str, int]:
    """Base dimensions and those computed from them."""
    known = dict(dims)
    for name, expression in slot.derived.items():
        known[name] = whole(expression, known)
    return known
