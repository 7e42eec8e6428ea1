"""What a slot is: a call boundary described as data.

A shape is a tuple of expressions over the slot's dimensions (`contract.slots.expression`);
everything else here is a name, a number or a choice. Nothing imports torch.
"""

from typing import Literal

from cacheon.records.strict import Record

Kind = Literal["op", "block", "collective"]
Role = Literal["activation", "weight", "output"]
ElementType = Literal["run", "int32", "float32"]
"""`run` is the dtype of the examination: bfloat16, float16 or float32."""


class TensorSpec(Record):
    """One tensor of the call.

    `shape` holds one expression a dimension. `dynamic`: its values change between
    replays. `rank_varying`: its values differ by rank. `pitch`: elements from one row of
    a two-dimensional output to the next, where that is more than the row (else None).
    """

    name: str
    role: Role
    shape: tuple[str, ...]
    dtype: ElementType = "run"
    dynamic: bool = False
    rank_varying: bool = False
    pitch: str | None = None


class ScalarSpec(Record):
    """One scalar of the call: `expression` over dimensions, `rsqrt(D)` included, or a
    literal. A scalar named in a case's `choices` takes that value instead."""

    name: str
    expression: str


class Correctness(Record):
    """`allclose`: every element within tolerance. `matched_ratio`: at least `ratio` of
    them. `topk_overlap`: mean overlap by row of the `k` best at least `ratio`."""

    rule: Literal["allclose", "matched_ratio", "topk_overlap"]
    ratio: float = 1.0
    k: int = 0


class CatalogueShape(Record):
    """A published shape: the slot's base dimensions, and choices such as causal."""

    dims: dict[str, int]
    choices: dict[str, bool] = {}


class Slot(Record, kw_only=True):
    """The whole contract of one call boundary (source: the public slot list).

    `entry`: argument names in call order; beside tensors and scalars it may hold
    `prepared` and `group`. `prepare`: argument names of the load-time callable, empty
    where the slot has none. `derived`: dimensions computed from the base ones, in order.
    `fields`: descriptor field to expression. `context`: descriptor context fields that
    the slot fixes (phase, ep_size, graph_mode). `counts`: base dimensions that are
    jittered; `multiples`: base or derived dimension to the dimension or number it stays
    a multiple of; `limits`: pairs (a, b) of base dimensions with a <= b.
    """

    name: str
    kind: Kind
    title: str
    entry: tuple[str, ...]
    prepare: tuple[str, ...] = ()
    tensors: tuple[TensorSpec, ...]
    scalars: tuple[ScalarSpec, ...] = ()
    derived: dict[str, str] = {}
    fields: dict[str, str]
    context: dict[str, str | int] = {}
    counts: tuple[str, ...]
    multiples: dict[str, str] = {}
    limits: tuple[tuple[str, str], ...] = ()
    correctness: Correctness
    catalogue: tuple[CatalogueShape, ...]

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Activations and weights, in the order of the contract."""
        return tuple(t for t in self.tensors if t.role != "output")

    @property
    def activations(self) -> tuple[TensorSpec, ...]:
        return tuple(t for t in self.tensors if t.role == "activation")

    @property
    def weights(self) -> tuple[TensorSpec, ...]:
        return tuple(t for t in self.tensors if t.role == "weight")

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return tuple(t for t in self.tensors if t.role == "output")


TOLERANCE: dict[str, float] = {"bfloat16": 2e-2, "float16": 1e-2, "float32": 1e-5}
"""atol = rtol by run dtype."""

ROW_ERROR: dict[str, float] = {"bfloat16": 2e-2, "float16": 1e-2, "float32": 1e-4}
"""Largest relative L2 error of a row, a head or a 64-column tile, by run dtype."""
