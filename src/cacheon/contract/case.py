"""One call to examine: concrete dimensions, concrete shapes, one descriptor."""

from typing import Literal

from cacheon.records.strict import Record


class ConcreteTensor(Record):
    """A tensor of one case. `shape` in elements; `strides` in elements; `dtype` is
    torch's name (`bfloat16`, `int32`, …); `span` counts the elements from the first to
    one past the last, gaps of a pitched output included."""

    name: str
    role: Literal["activation", "weight", "output"]
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    span: int
    dynamic: bool
    rank_varying: bool = False


class Case(Record):
    """A call that a variant is examined with.

    `dims` holds base and derived dimensions; `scalars` the values passed to the entry
    (bool, int or float); `descriptor` the full call descriptor. `origin` says whether
    the shape comes from the catalogue or from an end of the variant's own domain.
    `applicable`: the variant's domain admits the descriptor. `label` is what a person
    reads (`num_tokens=333 intermediate_dim=2880`).
    """

    slot: str
    variant: str
    dims: dict[str, int]
    scalars: dict[str, bool | int | float]
    tensors: tuple[ConcreteTensor, ...]
    descriptor: dict[str, str | int]
    origin: Literal["catalogue", "boundary", "larger"]
    applicable: bool
    label: str

    def tensor(self, name: str) -> ConcreteTensor:
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise KeyError(name)
