"""What every child of the fork server needs, imported once: torch, Triton, the worker."""

import contextlib
import gc
import importlib
import importlib.util
import os
import threading
from collections.abc import Iterator

from cacheon.engine.removing import remove


class Imports:
    """In two steps, for graders are forked before Triton is there.

    `triton`: whether a candidate may compile with it. Then what takes each worker long the first
    time is done here, on the side: a hint, and a wrong one costs time alone. `directory`: the
    fork server's own, for what the C compiler makes; where there is none, nothing is done."""

    def __init__(self, device: str, *, triton: bool, directory: str) -> None:
        has_triton = importlib.util.find_spec("triton") is not None
        self._has_triton, self._on_cuda = has_triton, device == "cuda"
        self._ahead = has_triton and triton and self._on_cuda and bool(directory)
        self._cache = os.path.join(directory, "triton")
        self._are_whole = False

    def engine(self) -> tuple[str, ...]:
        """Import what graders need; the names of what is not there."""
        if not self._on_cuda:
            # Triton chooses its interpreter when it is imported.
            os.environ["TRITON_INTERPRET"] = "1"
        # A CUDA initialization here would be inherited broken by every child.
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
        os.environ.pop("PYTORCH_ALLOC_CONF", None)
        has_torch = importlib.util.find_spec("torch") is not None
        beside = threading.Thread(target=_prepare_triton)
        with self._own_cache():
            if self._ahead:
                beside.start()
            if has_torch:
                importlib.import_module("torch")
            if self._ahead:
                # Nothing is forked beside another thread.
                beside.join()
        _freeze()
        there = {"torch": has_torch, "triton": self._has_triton}
        return tuple(name for name, found in there.items() if not found)

    def worker(self) -> None:
        """Import what workers need beside that; the first time it takes a while."""
        if self._are_whole:
            return
        self._are_whole = True
        if self._has_triton:
            importlib.import_module("triton")
        if self._ahead:
            with self._own_cache():
                _finish_triton()
            # Loaded it is; on disc nobody shall have anything to change in it.
            remove(self._cache)
        importlib.import_module("cacheon.engine.worker.main")
        _freeze()

    @contextlib.contextmanager
    def _own_cache(self) -> Iterator[None]:
        """Triton keeps here what it makes, and not where a user's programs look for it."""
        before = os.environ.get("TRITON_CACHE_DIR")
        os.environ["TRITON_CACHE_DIR"] = self._cache
        try:
            yield
        finally:
            del os.environ["TRITON_CACHE_DIR"]
            if before is not None:
                os.environ["TRITON_CACHE_DIR"] = before


def _prepare_triton() -> None:
    """Triton reads all of its own files before it compiles anything, and has the C compiler make
    a part of its driver: half a second each, which pass while torch is imported. A version that
    does so elsewhere takes its time in each worker."""
    with contextlib.suppress(Exception):
        importlib.import_module("triton.runtime.cache").triton_key()
    with contextlib.suppress(Exception):
        importlib.import_module("triton.backends.nvidia.driver").CudaUtils()


def _finish_triton() -> None:
    """What needs all of torch: the driver, of which nothing asks the device before a worker
    does, and the second language, which the first launch imports."""
    with contextlib.suppress(Exception):
        _ = importlib.import_module("triton.runtime.driver").driver.active.utils
    with contextlib.suppress(Exception):
        importlib.import_module("triton.experimental.gluon")


def _freeze() -> None:
    """Children never copy the pages of these objects in a collection of their own."""
    gc.collect()
    gc.freeze()
