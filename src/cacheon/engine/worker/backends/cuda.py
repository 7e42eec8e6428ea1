"""CUDA: real streams, real capture, real replays.

Every eager call and every capture is a sandwich on one stream: a delay, a producer that
copies staged values into the inputs, the entry, a consumer that copies each output with
its guards into a log. Work that was never forked from the caller's stream, or never
joined to it, meets the producer or the consumer at the wrong time.
"""

import contextlib
import gc
import random
from collections.abc import Sequence
from typing import Any

import torch

from cacheon.engine import driver
from cacheon.engine.ledger import Ledger
from cacheon.engine.plan import CallPlan
from cacheon.engine.slab import Slab
from cacheon.engine.worker.backends.canaries import Canaries
from cacheon.engine.worker.backends.nodes import look_into
from cacheon.engine.worker.backends.port import Bound, Captured, Entry
from cacheon.engine.worker.waits import Waits

_EAGER_DELAY = 2_000_000
"""Cycles, about a millisecond: longer than any launch of ours takes on the host."""
_CAPTURED_DELAY = 20_000
"""Cycles, about ten microseconds: enough that work on no stream of ours runs first."""
_MOST_LATE = 200_000
"""Cycles, about a hundred microseconds: some times what a small collective takes."""
_BLOCK = 2 << 20
"""Bytes: smaller allocations may lie in one block, and an IPC handle shares whole blocks."""
_MOST_CANARIES = 256
"""Freed blocks of one stream that are taken again, at most: the largest."""


class Cuda:
    name = "cuda"

    def __init__(self) -> None:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        self.device = torch.device("cuda", torch.cuda.current_device())
        # torch's own streams do not synchronize with the legacy default stream.
        self._warm = torch.cuda.Stream()
        self._eager = torch.cuda.Stream()
        self._capture = torch.cuda.Stream()
        self._broken: set[Any] = set()
        """Pools into which a capture was broken."""
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self._siblings: list[torch.cuda.CUDAGraph] = []
        self._canaries = Canaries("cuda")
        self._delays: random.Random | None = None
        self._ledger: Ledger | None = None
        self.waits = Waits()
        self._load_kernels()
        # A candidate begins with an allocator that holds nothing.
        torch.cuda.empty_cache()

    def _load_kernels(self) -> None:
        """Run once whatever a sandwich, a capture and a replay of ours are made of: a kernel
        is loaded when it is first launched, and a worker is started before it is needed."""
        words = torch.zeros(2, 2, dtype=torch.int64, device="cuda")
        row, counter, index = (torch.zeros_like(words[:1]), *words.new_zeros(2, 1))

        def sandwich() -> None:
            torch.remainder(counter, 2, out=index)
            torch.cuda._sleep(1)
            torch.index_select(words, 0, index, out=row)
            words.index_copy_(0, index, row)
            row.copy_(words[:1])
            counter.add_(1)

        graph = torch.cuda.CUDAGraph(keep_graph=True)
        torch.cuda.synchronize()
        with torch.cuda.stream(self._capture):
            sandwich()
            pool = torch.cuda.graph_pool_handle()
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            sandwich()
            graph.capture_end()
            look_into(graph.raw_cuda_graph())
            graph.instantiate()
            graph.replay()
        torch.cuda.synchronize()
        graph.reset()

    def make_slab(self, nbytes: int, memfd: int) -> tuple[Slab, bytes]:
        address = driver.allocate(nbytes)
        slab = Slab(address, nbytes, self.device)
        return slab, driver.share(address)

    def make_pieces(self, nbytes: int, starts: Sequence[int]) -> tuple[Slab, tuple[bytes, ...]]:
        ends = [*starts[1:], nbytes]
        addresses = [
            driver.allocate(-(-(end - start) // _BLOCK) * _BLOCK)
            for start, end in zip(starts, ends, strict=True)
        ]
        slab = Slab.of_pieces(starts, addresses, nbytes, self.device)
        return slab, tuple(driver.share(address) for address in addresses)

    def arrange(self, slab: Slab, counter: int) -> None:
        self._slab = slab
        self._counter = slab.words(counter, 8)
        self._index = slab.words(counter + 8, 8)

    def join(self, rank: int, skew: int, ledger: Ledger) -> None:
        self._delays, self._ledger = random.Random(f"{skew}:{rank}"), ledger

    def warm(self, calls: Sequence[Bound], entry: Entry) -> None:
        self.waits.places.clear()
        with torch.cuda.stream(self._warm):
            for call in calls:
                self._produce(call.plan)
                entry(*call.arguments())
                self._produce(call.plan)
                self.waits.call(entry, call.arguments, torch.cuda.set_sync_debug_mode)
        torch.cuda.synchronize()

    def eager(self, call: Bound, entry: Entry, times: int, delay: bool) -> bool:
        returned = False
        with torch.cuda.stream(self._eager):
            for _ in range(times):
                if delay:
                    torch.cuda._sleep(_EAGER_DELAY + self._lag())
                self._produce(call.plan)
                returned |= entry(*call.arguments()) is not None
                self._consume(call.plan)
        # Only the caller's stream is waited for before the snapshot is complete; the
        # device as a whole only afterwards, so that the grader reads settled memory.
        self._eager.synchronize()
        torch.cuda.synchronize()
        return returned

    def capture(self, case: int, calls: Sequence[Bound], entry: Entry, sibling: bool) -> Captured:
        graph, nodes = self._record(calls, entry, self._shared_pool())
        kinds, suspicious, together = look_into(graph.raw_cuda_graph())
        if self._ledger is not None:
            # Behind what was called: kernels that no group was asked for show here alone.
            for kernel in together:
                self._ledger.add(f"kernel {kernel}")
        graph.instantiate()
        if sibling:
            self._siblings.append(graph)
        else:
            self._graphs[case] = graph
        return Captured(tuple(nodes), kinds, suspicious, 0)

    def recapture(self, calls: Sequence[Bound], entry: Entry, times: int) -> None:
        for _ in range(times):
            graph, _ = self._record(calls, entry, torch.cuda.graph_pool_handle())
            graph.instantiate()
            graph.reset()
        torch.cuda.synchronize()

    def replay(self, case: int, times: int) -> None:
        graph = self._graphs[case]
        with torch.cuda.stream(self._capture):
            for _ in range(times):
                graph.replay()
        self._capture.synchronize()
        torch.cuda.synchronize()

    def collect(self) -> None:
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def drop_siblings(self) -> None:
        for graph in self._siblings:
            graph.reset()
        self._siblings.clear()

    def refill(self) -> None:
        """Take blocks of the sizes that were freed, and of every power of two besides, on
        each stream that freed some: the allocator keeps them apart."""
        freed: dict[int, list[int]] = {0: []}
        for segment in torch.cuda.memory_snapshot():
            if tuple(segment["segment_pool_id"]) == (0, 0):
                sizes = freed.setdefault(segment["stream"], [])
                sizes += [b["size"] for b in segment["blocks"] if b["state"] == "inactive"]
        for stream, sizes in freed.items():
            # A block is cut a little shorter than what was freed, so that it fits into it.
            wanted = [max(size - 512, 512) for size in sorted(sizes)[-_MOST_CANARIES:]]
            wanted += [1 << power for power in range(9, 26)]
            with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
                self._canaries.take(wanted)
        torch.cuda.synchronize()

    def inspect(self) -> None:
        self._canaries.inspect()

    def release(self) -> None:
        self._canaries.release()

    def is_lost(self, error: BaseException) -> bool:
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return True
        return False

    def _lag(self) -> int:
        """Cycles by which a rank is late for a call, another number each time."""
        return self._delays.randrange(_MOST_LATE) if self._delays is not None else 0

    def _record(
        self, calls: Sequence[Bound], entry: Entry, pool: Any
    ) -> tuple[torch.cuda.CUDAGraph, list[int]]:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        nodes = []
        torch.cuda.synchronize()
        with torch.cuda.stream(self._capture):
            # `torch.cuda.graph` would collect garbage and empty the cache here, which is
            # the perturbation's business, and time besides.
            graph.capture_begin(pool=pool, capture_error_mode="global")
            try:
                rows = calls[0].plan.rows
                torch.remainder(self._counter, rows, out=self._index)
                for call in calls:
                    torch.cuda._sleep(_CAPTURED_DELAY + self._lag())
                    self._produce_row(call.plan)
                    before = driver.captured_nodes(self._capture.cuda_stream)
                    entry(*call.arguments())
                    after = driver.captured_nodes(self._capture.cuda_stream)
                    nodes.append(after - before if min(before, after) >= 0 else -1)
                    self._consume_row(call.plan)
                self._counter.add_(1)
            finally:
                self._end(graph, pool)
        return graph, nodes

    def _shared_pool(self) -> Any:
        """That of a graph which lives: one that no graph holds cannot be captured into."""
        pools = [graph.pool() for graph in self._graphs.values()]
        usable = [pool for pool in pools if pool not in self._broken]
        return usable[-1] if usable else torch.cuda.graph_pool_handle()

    def _end(self, graph: torch.cuda.CUDAGraph, pool: Any) -> None:
        try:
            graph.capture_end()
        except RuntimeError:
            # torch before 2.12 goes on recording to the pool (pytorch/pytorch#180395) and
            # refuses another capture into it; a later one has ended that, and says so.
            with contextlib.suppress(RuntimeError):
                torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), pool)
            self._broken.add(pool)
            raise

    def _produce(self, plan: CallPlan) -> None:
        for copy in plan.producers:
            source = self._slab.words(copy.ring, copy.nbytes)
            self._slab.words(copy.span, copy.nbytes).copy_(source)

    def _consume(self, plan: CallPlan) -> None:
        for copy in plan.consumers:
            source = self._slab.words(copy.span, copy.nbytes)
            self._slab.words(copy.ring, copy.nbytes).copy_(source)

    def _produce_row(self, plan: CallPlan) -> None:
        for copy in plan.producers:
            rows = self._rows(plan.rows, copy.ring, copy.pitch, copy.nbytes)
            span = self._slab.words(copy.span, copy.nbytes).unsqueeze(0)
            torch.index_select(rows, 0, self._index, out=span)

    def _consume_row(self, plan: CallPlan) -> None:
        for copy in plan.consumers:
            rows = self._rows(plan.rows, copy.ring, copy.pitch, copy.nbytes)
            span = self._slab.words(copy.span, copy.nbytes).unsqueeze(0)
            rows.index_copy_(0, self._index, span)

    def _rows(self, rows: int, ring: int, pitch: int, nbytes: int) -> torch.Tensor:
        """int64 (rows, nbytes / 8) over a ring."""
        return self._slab.words(ring, rows * pitch).view(rows, pitch // 8)[:, : nbytes // 8]
