"""CUDA C++ in files and in strings: the few calls whose name is enough."""

import ast
import re
from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.project import Module

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CALLS = {
    "CG105": (
        "waits on the host, or asks the device there",
        "cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize cudaEventQuery "
        "cudaStreamQuery cuCtxSynchronize cuStreamSynchronize",
    ),
    "CG404": ("makes the graph call the host", "cudaLaunchHostFunc cudaStreamAddCallback"),
    "CG503": (
        "asks the driver for memory",
        "cudaMalloc cudaMallocAsync cudaMallocHost cudaHostAlloc cuMemAlloc",
    ),
}
_BY_NAME = {name: (rule, what) for rule, (what, names) in _CALLS.items() for name in names.split()}
_CALL = re.compile(rf"\b({'|'.join(_BY_NAME)})\s*\(")
_LAUNCH = re.compile(r"<<<(?P<arguments>.+?)>>>\s*\(", re.DOTALL)
_MARK = re.compile(r"__global__|<<<")


def in_strings(module: Module) -> Iterator[tuple[Module, Fault]]:
    """Faults in the strings of a Python source that hold CUDA."""
    for node in module.nodes:
        match node:
            case ast.Constant(value=str(text), lineno=first, end_lineno=int(last)) if _MARK.search(
                text
            ):
                for line, fault in _faults(text):
                    # A newline that is written as an escape is no line of the source.
                    place = ast.Pass(lineno=min(first + line, last), col_offset=0)
                    yield module, fault._replace(node=place)


def in_file(module: Module) -> Iterator[tuple[Module, Fault]]:
    """Faults in a file of CUDA."""
    for line, fault in _faults("\n".join(module.lines)):
        yield module, fault._replace(node=ast.Pass(lineno=line + 1, col_offset=0))


def _faults(text: str) -> Iterator[tuple[int, Fault]]:
    """Each with its line, which counts from 0."""
    # Comments keep their newlines: lines are counted.
    code = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    for found in _CALL.finditer(code):
        rule, what = _BY_NAME[found[1]]
        yield code.count("\n", 0, found.start()), Fault(rule, f"`{found[1]}` {what}")
    for found in _LAUNCH.finditer(code):
        stream = _fourth(found["arguments"])
        if stream in ("", "0", "nullptr", "NULL"):
            message = "a launch without a stream goes to the default one, which is not captured"
            yield code.count("\n", 0, found.start()), Fault("CG401", message)


def _fourth(arguments: str) -> str:
    """The fourth of comma-separated arguments; "" where there are fewer."""
    depth, parts = 0, [""]
    for character in arguments:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts[3].strip() if len(parts) > 3 else ""
