"""CG503: memory that does not come from the graph's pool."""

from collections.abc import Iterator

from cacheon.scan import results, torch_api
from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.events import Called, Event

_DRIVERS = (
    "cudaMalloc",
    "cudaMallocAsync",
    "cudaMallocHost",
    "cudaHostAlloc",
    "cuMemAlloc",
    "cuMemAllocAsync",
    "caching_allocator_alloc",
)
_POOL = "MemPool"
_MAKES = torch_api.CREATIONS | torch_api.LIKES | torch_api.NEWS | torch_api.MAKERS


def concerns(name: str) -> bool:
    """Whether a call of this name may be a fault of this kind."""
    return name.rpartition(".")[2] in (*_MAKES, *_DRIVERS, _POOL, "pin_memory")


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Called) or not replayed(event):
        return
    last = event.name.rpartition(".")[2]
    if last == "pin_memory" or (
        last in _MAKES and results.is_true(event.keywords.get("pin_memory"))
    ):
        yield Fault("CG503", "pinned memory is allocated in every call")
    elif last == _POOL and event.name.startswith("torch.cuda."):
        yield Fault("CG503", f"`{event.name}` makes a pool beside the graph's in every call")
    elif last in _DRIVERS:
        yield Fault("CG503", f"`{last}` asks the driver for memory in every call")
