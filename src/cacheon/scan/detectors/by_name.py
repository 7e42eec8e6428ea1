"""Rules that a name in the entry's path is enough for."""

from collections.abc import Iterator

from cacheon.scan import torch_api
from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.events import Called, Event

_COMPILERS = frozenset(
    {
        "torch.compile",
        "torch.jit.script",
        "torch.jit.trace",
        "torch.utils.cpp_extension.load",
        "torch.utils.cpp_extension.load_inline",
        "torch.cuda._compile_kernel",
        "triton.jit",
        "triton.compile",
        "triton.autotune",
        "cupy.RawKernel",
        "cupy.RawModule",
        "numba.cuda.jit",
    }
)
_GROUPS = frozenset(
    f"torch.distributed.{name}"
    for name in (
        "init_process_group destroy_process_group new_group new_subgroups split_group "
        "new_subgroups_by_enumeration shrink_group init_device_mesh "
        "device_mesh.init_device_mesh abort_process_group"
    ).split()
)
_CAPTURES = frozenset(
    {
        torch_api.GRAPHED,
        "torch.cuda.graph",
        "torch.cuda.CUDAGraph",
        "torch.cuda.make_graphed_callables",
    }
)
_HOST_NODES = ("cudaLaunchHostFunc", "cuLaunchHostFunc", "cudaStreamAddCallback")


def concerns(name: str) -> bool:
    """Whether a call of this name may be a fault of this kind."""
    return name in _COMPILERS | _GROUPS | _CAPTURES or name.endswith(_HOST_NODES)


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Called) or not replayed(event):
        return
    name = event.name
    if name in _COMPILERS:
        yield Fault("CG502", f"`{name}` compiles in every call, under capture too")
    elif name in _GROUPS:
        yield Fault("CG601", f"`{name}` makes or ends a process group in every call")
    elif name in _CAPTURES:
        yield Fault("CG505", f"`{name}` begins a capture within the caller's")
    elif name.endswith(_HOST_NODES):
        yield Fault("CG404", f"`{name}` makes the graph call the host")
