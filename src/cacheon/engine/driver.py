"""The few calls of the CUDA driver that torch does not offer, by ctypes.

Each needs a current context on the calling thread: run a torch operation on the device
first. Source: the CUDA driver API reference (memory management, stream management, graph
management).
"""

import ctypes
import functools
import re
from pathlib import Path

HANDLE_BYTES = 64
"""Size of a CUipcMemHandle."""

_KERNEL = Path("/proc/driver/nvidia/version")
_VERSION = re.compile(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", re.MULTILINE)
_LAZY_ENABLE_PEER_ACCESS = 1


class DriverError(RuntimeError):
    """A driver call that did not succeed."""


class _IpcHandle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_ubyte * HANDLE_BYTES),)


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _check(name: str, status: int) -> None:
    if status == 0:
        return
    text = ctypes.c_char_p()
    _library().cuGetErrorString(status, ctypes.byref(text))
    reason = text.value.decode() if text.value else "unknown error"
    raise DriverError(f"{name}: {reason} ({status})")


def allocate(nbytes: int) -> int:
    """Ordinary device memory of `nbytes`; its address. Never freed while the process lives."""
    pointer = ctypes.c_uint64()
    _check("cuMemAlloc", _library().cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(nbytes)))
    return pointer.value


def share(pointer: int) -> bytes:
    """The IPC handle, 64 bytes, of an allocation that starts at `pointer`."""
    handle = _IpcHandle()
    _check(
        "cuIpcGetMemHandle", _library().cuIpcGetMemHandle(ctypes.byref(handle), _pointer(pointer))
    )
    return bytes(handle.reserved)


def open_shared(handle: bytes) -> int:
    """Map another process's allocation; its address here."""
    if len(handle) != HANDLE_BYTES:
        raise DriverError(f"an IPC handle has {HANDLE_BYTES} bytes, not {len(handle)}")
    pointer = ctypes.c_uint64()
    structure = _IpcHandle((ctypes.c_ubyte * HANDLE_BYTES).from_buffer_copy(handle))
    status = _library().cuIpcOpenMemHandle_v2(
        ctypes.byref(pointer), structure, ctypes.c_uint(_LAZY_ENABLE_PEER_ACCESS)
    )
    _check("cuIpcOpenMemHandle", status)
    return pointer.value


def close_shared(pointer: int) -> None:
    """Unmap what `open_shared` mapped."""
    _check("cuIpcCloseMemHandle", _library().cuIpcCloseMemHandle(_pointer(pointer)))


def captured_nodes(stream: int) -> int:
    """How many nodes the capture in progress on `stream` holds; -1 where it cannot be
    told (no capture, or one that is already invalid)."""
    status = ctypes.c_int()
    identity = ctypes.c_uint64()
    graph = ctypes.c_void_p()
    result = _library().cuStreamGetCaptureInfo_v2(
        ctypes.c_void_p(stream),
        ctypes.byref(status),
        ctypes.byref(identity),
        ctypes.byref(graph),
        None,
        None,
    )
    if result != 0 or status.value != 1 or not graph.value:
        return -1
    count = ctypes.c_size_t()
    if _library().cuGraphGetNodes(graph, None, ctypes.byref(count)) != 0:
        return -1
    return count.value


def installed_version() -> str:
    """The driver's version as the kernel tells it; where it does not, the newest CUDA that
    the driver's library supports, as `CUDA 13.0`."""
    try:
        found = _VERSION.search(_KERNEL.read_text(errors="replace"))
    except OSError:
        found = None
    if found:
        return found[1]
    number = ctypes.c_int()
    _check("cuDriverGetVersion", _library().cuDriverGetVersion(ctypes.byref(number)))
    return f"CUDA {number.value // 1000}.{number.value % 1000 // 10}"


def _pointer(address: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(address)
