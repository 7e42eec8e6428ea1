"""The plan: where everything of an examination lies in a worker's slab."""

from cacheon.records.strict import Record


class TensorRef(Record):
    """A tensor over the slab: `offset` in bytes, `shape` and `strides` in elements."""

    offset: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class RingCopy(Record):
    """A copy between one live span and a ring of rows, in bytes.

    For a producer the ring is the staging area and the span an input; for a consumer the
    span is an output with its guards and the ring the log. `pitch` separates two rows."""

    ring: int
    span: int
    nbytes: int
    pitch: int


class CallPlan(Record):
    """One call of the entry: its tensors, its scalars, what is copied before and after.

    `rows` is the depth of the ring; `prepared` the index of the prepared weights, -1 where
    the slot prepares nothing."""

    tensors: dict[str, TensorRef]
    scalars: dict[str, bool | int | float]
    producers: tuple[RingCopy, ...]
    consumers: tuple[RingCopy, ...]
    rows: int
    prepared: int = -1


class CasePlan(Record):
    """The calls of one case. `warm`: set A with each layer's weights; `eager`: sets A and
    A'; `captured`: three calls on set B."""

    warm: tuple[CallPlan, ...]
    eager: tuple[CallPlan, ...]
    captured: tuple[CallPlan, ...]


class WorkerPlan(Record):
    """Everything a worker needs to know of an examination, before it loads a candidate.

    `entry` and `prepare` are argument names in call order; `counter` is the byte offset
    of the int64 replay counter, followed by the int64 row index."""

    entry: tuple[str, ...]
    prepare: tuple[str, ...]
    counter: int
    cases: tuple[CasePlan, ...]
    larger: CallPlan | None
    prepares: tuple[dict[str, TensorRef], ...]
