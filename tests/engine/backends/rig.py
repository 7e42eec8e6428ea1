"""A slab laid out by hand: calls of (x, out), their staging rings and their logs.

Laid by other code than the grader's, so that the suite says what a backend owes to any
plan and not only to those that the grader makes.
"""

from collections.abc import Callable, Iterator, Sequence

import torch

from cacheon.engine.plan import CallPlan, RingCopy, TensorRef
from cacheon.engine.worker.backends.port import Backend, Bound

ROWS = 4
"""Depth of every ring."""
CALLS = 3
"""Calls of one captured graph, as layers of a model."""
GUARD = 1024
"""Bytes on each side of an output, and between two rows of a ring."""
POISON = 0xFF
WATCHED = 0x5A
UNTOUCHED = 0x11


class Place:
    """Where one call lies. All offsets are bytes; `count` floats an input, as many an
    output."""

    def __init__(self, take: Callable[[int], int], count: int) -> None:
        self.count, nbytes = count, 4 * count
        self.x, self.guarded = take(nbytes), take(nbytes + 2 * GUARD)
        self.staged, self.log = nbytes + GUARD, nbytes + 3 * GUARD
        self.staging, self.logs = take(ROWS * self.staged), take(ROWS * self.log)
        self.plan = CallPlan(
            tensors={
                "x": TensorRef(offset=self.x, dtype="float32", shape=(count,), strides=(1,)),
                "out": TensorRef(
                    offset=self.guarded + GUARD, dtype="float32", shape=(count,), strides=(1,)
                ),
            },
            scalars={},
            producers=(RingCopy(ring=self.staging, span=self.x, nbytes=nbytes, pitch=self.staged),),
            consumers=(
                RingCopy(
                    ring=self.logs, span=self.guarded, nbytes=nbytes + 2 * GUARD, pitch=self.log
                ),
            ),
            rows=ROWS,
        )


class Rig:
    """Cases of `counts` floats a tensor, CALLS calls each, arranged in a backend."""

    def __init__(self, backend: Backend, counts: Sequence[int]) -> None:
        self.backend = backend
        self._end = 0
        counter = self._take(16)
        self.places = [[Place(self._take, count) for _ in range(CALLS)] for count in counts]
        self.slab, self.handle = backend.make_slab(self._end, -1)
        self.device = self.slab.device
        self.counter = self.slab.words(counter, 8)
        self._draw = torch.Generator().manual_seed(20)
        self.values: dict[int, torch.Tensor] = {}
        backend.arrange(self.slab, counter)
        for case in range(len(counts)):
            self.refresh(case)

    def _take(self, nbytes: int) -> int:
        start, self._end = self._end, self._end + -(-nbytes // 1024) * 1024
        return start

    def settle(self) -> None:
        """What was written here has arrived before a stream of the backend's reads it."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    # --- calls ---------------------------------------------------------------------------------

    def calls(self, case: int) -> list[Bound]:
        return [self.bind(place) for place in self.places[case]]

    def bind(self, place: Place) -> Bound:
        def arguments() -> list[object]:
            return [self.slab.tensor(place.plan.tensors[name]) for name in ("x", "out")]

        return Bound(place.plan, arguments)

    # --- values --------------------------------------------------------------------------------

    def refresh(self, case: int) -> None:
        """Stage fresh values in every row of every ring, poison all the rest, count from 0."""
        for call, place in enumerate(self.places[case]):
            values = torch.randn(ROWS, place.count, generator=self._draw).to(self.device)
            self.values[case * CALLS + call] = values
            self._rows(place.staging, place.staged).fill_(UNTOUCHED)
            for row in range(ROWS):
                self._floats(place.staging + row * place.staged, place.count).copy_(values[row])
            self._rows(place.logs, place.log).fill_(UNTOUCHED)
            self.poison(place)
        self.counter.zero_()
        self.settle()

    def poison(self, place: Place) -> None:
        self.slab.raw(place.x, 4 * place.count).fill_(POISON)
        self.slab.raw(place.guarded, 4 * place.count + 2 * GUARD).fill_(WATCHED)
        self.slab.raw(place.guarded + GUARD, 4 * place.count).fill_(POISON)

    def staged(self, case: int, call: int) -> torch.Tensor:
        """float32 (ROWS, count): what the producer of this call reads."""
        return self.values[case * CALLS + call]

    def live(self, case: int, call: int) -> tuple[torch.Tensor, torch.Tensor]:
        """float32 (count,) twice: the call's input and output as they stand now."""
        place = self.places[case][call]
        return self._floats(place.x, place.count), self._floats(place.guarded + GUARD, place.count)

    def logged(self, case: int, call: int, row: int) -> torch.Tensor:
        """float32 (count,): what the consumer of this call wrote into a row."""
        place = self.places[case][call]
        return self._floats(place.logs + row * place.log + GUARD, place.count)

    def guards(self, case: int, call: int, row: int) -> torch.Tensor:
        """uint8 (2, GUARD): the guards that a row holds beside its answer."""
        place = self.places[case][call]
        start = place.logs + row * place.log
        before = self.slab.raw(start, GUARD)
        after = self.slab.raw(start + GUARD + 4 * place.count, GUARD)
        return torch.stack([before, after])

    def gaps(self, case: int) -> Iterator[torch.Tensor]:
        """uint8 (GUARD,): what lies between the rows of every ring of a case."""
        for place in self.places[case]:
            for ring, pitch in ((place.staging, place.staged), (place.logs, place.log)):
                for row in range(ROWS):
                    yield self.slab.raw(ring + (row + 1) * pitch - GUARD, GUARD)

    def _floats(self, offset: int, count: int) -> torch.Tensor:
        return self.slab.raw(offset, 4 * count).view(torch.float32)

    def _rows(self, offset: int, pitch: int) -> torch.Tensor:
        return self.slab.raw(offset, ROWS * pitch)

    # --- what is expected ----------------------------------------------------------------------

    def answered(self, case: int, call: int, row: int, of: Callable[..., object]) -> bool:
        """Whether a row of the log holds, bit for bit, what `of` makes of that row's values."""
        expected = torch.empty_like(self.staged(case, call)[row])
        of(self.staged(case, call)[row], expected)
        self.settle()
        return bool(torch.equal(self.logged(case, call, row), expected))

    def untouched(self, case: int, row: int) -> bool:
        """Whether no consumer wrote into a row of this case's logs."""
        return all(
            bool((self.slab.raw(place.logs + row * place.log, place.log) == UNTOUCHED).all())
            for place in self.places[case]
        )

    def all_answered(self, case: int, rows: Sequence[int], of: Callable[..., object]) -> bool:
        """Whether every call answered in these rows, and none in any other."""
        others = [row for row in range(ROWS) if row not in rows]
        right = all(self.answered(case, call, row, of) for call in range(CALLS) for row in rows)
        return right and all(self.untouched(case, row) for row in others)

    def capture(self, case: int, entry: Callable[..., object], *, sibling: bool = False) -> None:
        """Warm up and capture a case, as the course does; then values are fresh again."""
        self.backend.warm(self.calls(case), entry)
        self.backend.capture(case, self.calls(case), entry, sibling)
        self.refresh(case)
