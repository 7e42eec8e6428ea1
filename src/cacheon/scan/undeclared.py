"""CG910: files of a bundle that neither a row nor an import names."""

import ast
from collections.abc import Iterator

from cacheon.bundle.model import Bundle
from cacheon.scan.detectors.fault import Fault
from cacheon.scan.project import Module, Project
from cacheon.scan.sources import text_of

_OTHER_SOURCES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".h", ".hpp", ".sh", ".pyx")


def undeclared(bundle: Bundle, project: Project) -> Iterator[tuple[Module, Fault]]:
    """A fault at the head of each such file."""
    reached = _reached({variant.source for variant in bundle.variants}, project)
    declared = {name for variant in bundle.variants for name in variant.cuda_sources}
    for entry in bundle.files:
        if entry.path in project.modules and entry.path not in reached:
            message = "no row names this source, and none that a row names imports it"
            yield project.modules[entry.path], Fault("CG910", message)
        if entry.path.endswith(_OTHER_SOURCES) and entry.path not in declared:
            message = "no row declares this source"
            yield text_of(b"", entry.path), Fault("CG910", message)


def _reached(paths: set[str], project: Project) -> set[str]:
    waiting, found = set(paths), set[str]()
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= {module.path for module in _imports(project.modules[path], project)} - found
    return found


def _imports(module: Module, project: Project) -> Iterator[Module]:
    for node in (*module.nodes, *module.aside):
        names: list[str] = []
        match node:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(names=aliases):
                origin = project.relative(node, module)
                names = [origin, *(f"{origin}.{alias.name}" for alias in aliases)]
            case ast.Constant(value=str(text)):
                names = [text]
        for name in names:
            # A package runs on the way to its modules.
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                found = project.module(".".join(parts[:length]))
                if found is not None:
                    yield found
