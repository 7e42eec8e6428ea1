"""What stands in a captured graph, looked into through cuda-bindings where it is there.

Kernel, device-to-device copy, memset, event and empty nodes are expected. A host node, a
copy that touches host memory, an allocation or a conditional node is named.
"""

import importlib.util
from typing import Any

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
_CHILD_GRAPH = 4
_MEMCPY = 1
_HOST_MEMORY = 1
_DEEPEST = 8


def available() -> bool:
    """Whether cuda-bindings is installed."""
    try:
        return importlib.util.find_spec("cuda.bindings.driver") is not None
    except ModuleNotFoundError:
        return False


def look_into(graph: int) -> tuple[dict[str, int], tuple[str, ...]]:
    """Nodes by kind, and what they do that a graph must not; both empty where
    cuda-bindings is absent. `graph` is a CUgraph handle."""
    if not available():
        return {}, ()
    from cuda.bindings import driver

    kinds: dict[str, int] = {}
    suspicious: list[str] = []
    _walk(driver, driver.CUgraph(graph), kinds, suspicious, 0)
    return kinds, tuple(suspicious[:16])


def _walk(
    driver: Any, graph: Any, kinds: dict[str, int], suspicious: list[str], depth: int
) -> None:
    if depth > _DEEPEST:
        return
    count = _ask(driver, driver.cuGraphGetNodes(graph, 0))[-1]
    if not count:
        return
    nodes = _ask(driver, driver.cuGraphGetNodes(graph, count))[0]
    for node in nodes[:count]:
        number = int(_ask(driver, driver.cuGraphNodeGetType(node))[0])
        kind = _KINDS.get(number, f"kind {number}")
        kinds[kind] = kinds.get(kind, 0) + 1
        if kind in _SUSPICIOUS:
            suspicious.append(kind)
        elif number == _MEMCPY:
            parameters = _ask(driver, driver.cuGraphMemcpyNodeGetParams(node))[0]
            ends = (int(parameters.srcMemoryType), int(parameters.dstMemoryType))
            if _HOST_MEMORY in ends:
                suspicious.append("host copy")
        elif number == _CHILD_GRAPH:
            child = _ask(driver, driver.cuGraphChildGraphNodeGetGraph(node))[0]
            _walk(driver, child, kinds, suspicious, depth + 1)


def _ask(driver: Any, answer: tuple[Any, ...]) -> tuple[Any, ...]:
    if answer[0] != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"looking into the graph: {answer[0]!r}")
    return answer[1:]
