"""Compilers for a GPU that a candidate calls on a machine without one: they say so."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NoReturn

_EXTENSIONS = "torch.utils.cpp_extension"
_SUFFIXES = (".cu", ".cuh")
Needs = Callable[[str], Callable[..., NoReturn]]


class _Finder(MetaPathFinder):
    """Changes torch's builder of extensions as it is first imported: to import it in every
    worker would cost each of them half a second."""

    def __init__(self, needs: Needs) -> None:
        self._needs = needs

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _EXTENSIONS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for owner, name, value in _extensions(module, self._needs):
                setattr(owner, name, value)

        loader.exec_module = exec_module
        return spec


def _extensions(module: Any, needs: Needs) -> list[tuple[Any, str, Any]]:
    def refusing(build: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(build)

        @wraps(build)
        def built(*args: Any, **keywords: Any) -> Any:
            given = signature.bind(*args, **keywords).arguments
            sources = given.get("sources", ())
            named = [sources] if isinstance(sources, str) else list(sources)
            if (
                given.get("cuda_sources")
                or given.get("with_cuda")
                or any(str(source).endswith(_SUFFIXES) for source in named)
            ):
                needs("an extension with CUDA sources")()
            return build(*args, **keywords)

        return built

    return [
        (module, "load", refusing(module.load)),
        (module, "load_inline", refusing(module.load_inline)),
        (module, "CUDAExtension", needs("an extension with CUDA sources")),
    ]


def without_nvcc(needs: Needs) -> list[tuple[Any, str, Any]]:
    """What to put in place of what builds CUDA extensions: (owner, name, value)."""
    known = sys.modules.get(_EXTENSIONS)
    if known is not None:
        return _extensions(known, needs)
    return [(sys, "meta_path", [_Finder(needs), *sys.meta_path])]


def without_ptx(needs: Needs) -> list[tuple[Any, str, Any]]:
    """What to put in place of what Triton's interpreter has no form of, and is bare names
    or an error there. Triton is installed."""
    interpreter: Any = importlib.import_module("triton.runtime.interpreter")
    answers: list[tuple[Any, str, Any]] = []
    for name, what in (
        ("create_inline_asm", "inline PTX in a Triton kernel"),
        ("create_extern_elementwise", "a function of CUDA's device library"),
    ):
        if hasattr(interpreter.InterpreterBuilder, name):
            answers.append((interpreter.InterpreterBuilder, name, needs(what)))
    for module in ("libdevice", "cuda", "cuda.libdevice", "cuda.gdc", "cuda.utils"):
        full = f"triton.language.extra.{module}"
        if importlib.util.find_spec(full) is None:
            continue
        found = importlib.import_module(full)
        for name, value in vars(found).items():
            if callable(value) and not name.startswith("_") and _is_of_extras(value):
                answers.append((found, name, needs(f"`{name}` of Triton's {module}")))
    return answers


def _is_of_extras(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith("triton.language.extra.")
