"""What stands in a captured graph, looked into through cuda-bindings where it is there.

Kernel, device-to-device copy, memset, event and empty nodes are expected. A host node, a
copy that touches host memory, an allocation or a conditional node is named.
"""

import importlib.util
import re
from typing import Any, NamedTuple

_KINDS = {
    0: "kernel",
    1: "memcpy",
    2: "memset",
    3: "host",
    4: "child graph",
    5: "empty",
    6: "event wait",
    7: "event record",
    8: "semaphore signal",
    9: "semaphore wait",
    10: "allocation",
    11: "free",
    12: "batch memory operation",
    13: "conditional",
}
_SUSPICIOUS = {"host", "allocation", "free", "conditional"}
_KERNEL = 0
_CHILD_GRAPH = 4
_MEMCPY = 1
_HOST_MEMORY = 1
_DEEPEST = 8
_TOGETHER = re.compile(
    r"nccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|multimem|one_?shot|two_?shot"
    r"|cross_?device|barrier|symm_?mem",
    re.IGNORECASE,
)
"""Kernels in which ranks wait for each other name themselves so, as far as is known; those
that do not are seen when they hang."""


def available() -> bool:
    """Whether cuda-bindings is installed."""
    try:
        return importlib.util.find_spec("cuda.bindings.driver") is not None
    except ModuleNotFoundError:
        return False


class Looked(NamedTuple):
    """`kinds`: nodes by kind. `suspicious`: what they do that a graph must not. `together`:
    names of the kernels in which ranks work together, in the order of the nodes."""

    kinds: dict[str, int]
    suspicious: tuple[str, ...]
    together: tuple[str, ...]


def look_into(graph: int) -> Looked:
    """What a graph holds; nothing where cuda-bindings is absent. `graph` is a CUgraph
    handle."""
    if not available():
        return Looked({}, (), ())
    from cuda.bindings import driver

    seen = _Seen({}, [], [])
    _walk(driver, driver.CUgraph(graph), seen, 0)
    return Looked(seen.kinds, tuple(seen.suspicious[:16]), tuple(seen.together))


class _Seen(NamedTuple):
    kinds: dict[str, int]
    suspicious: list[str]
    together: list[str]


def _walk(driver: Any, graph: Any, seen: _Seen, depth: int) -> None:
    if depth > _DEEPEST:
        return
    count = _ask(driver, driver.cuGraphGetNodes(graph, 0))[-1]
    if not count:
        return
    nodes = _ask(driver, driver.cuGraphGetNodes(graph, count))[0]
    for node in nodes[:count]:
        number = int(_ask(driver, driver.cuGraphNodeGetType(node))[0])
        kind = _KINDS.get(number, f"kind {number}")
        seen.kinds[kind] = seen.kinds.get(kind, 0) + 1
        if kind in _SUSPICIOUS:
            seen.suspicious.append(kind)
        elif number == _KERNEL:
            name = _kernel_name(driver, node)
            if _TOGETHER.search(name):
                seen.together.append(name)
        elif number == _MEMCPY:
            parameters = _ask(driver, driver.cuGraphMemcpyNodeGetParams(node))[0]
            ends = (int(parameters.srcMemoryType), int(parameters.dstMemoryType))
            if _HOST_MEMORY in ends:
                seen.suspicious.append("host copy")
        elif number == _CHILD_GRAPH:
            child = _ask(driver, driver.cuGraphChildGraphNodeGetGraph(node))[0]
            _walk(driver, child, seen, depth + 1)


def _kernel_name(driver: Any, node: Any) -> str:
    """The function's name as it was compiled; empty where the driver does not tell."""
    parameters = _ask(driver, driver.cuGraphKernelNodeGetParams(node))[0]
    status, name = driver.cuFuncGetName(parameters.func)
    if status != driver.CUresult.CUDA_SUCCESS or name is None:
        return ""
    return str(name.decode("ascii", "replace"))


def _ask(driver: Any, answer: tuple[Any, ...]) -> tuple[Any, ...]:
    if answer[0] != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"looking into the graph: {answer[0]!r}")
    return answer[1:]
