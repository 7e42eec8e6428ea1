"""Modules: walked once each, and what their imports bind."""

import ast

from cacheon.scan import torch_api
from cacheon.scan.events import Root
from cacheon.scan.functions import Functions
from cacheon.scan.project import Module
from cacheon.scan.state import Frame
from cacheon.scan.values import Symbol, Value


class Importing(Functions):
    def load(self, module: Module) -> Frame:
        if module.path in self.modules:
            return self.modules[module.path]
        frame = self.modules[module.path] = Frame(module, "")
        before = self.frame, self.root, self.phase, self.facts, self.streams, self.calls
        self.frame, self.phase, self.facts = frame, "load", frozenset()
        self.root = Root(path=module.path, name="", line=1, phase="load")
        self.streams, self.calls = [], []
        with self.collecting():
            self.block(module.tree.body)
        self.frame, self.root, self.phase, self.facts, self.streams, self.calls = before
        return frame

    def exported(self, module: Module, name: str) -> Value | None:
        self.load(module)
        return self.read_global(module, name)

    def import_names(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                dotted = alias.name if alias.asname else alias.name.partition(".")[0]
                self.frame.env[alias.asname or dotted] = self.imported(dotted)
            return
        origin = self.project.relative(node, self.frame.module)
        for alias in node.names:
            if alias.name == "*":
                self._import_all(origin)
            else:
                self.frame.env[alias.asname or alias.name] = self._from(origin, alias.name)

    def imported(self, dotted: str) -> Value:
        """What `import` binds: a source of the project is walked, and stays a name."""
        module = self.project.module(dotted)
        if module is not None:
            self.load(module)
        return Symbol(name=torch_api.canonical(dotted))

    def _from(self, origin: str, name: str) -> Value:
        module = self.project.module(origin)
        if module is not None:
            found = self.exported(module, name)
            if found is not None:
                return found
        return self.imported(f"{origin}.{name}")

    def _import_all(self, origin: str) -> None:
        module = self.project.module(origin)
        if module is not None:
            public = [n for n in self.load(module).env if not n.startswith("_")]
            self.frame.env.update({name: self._from(origin, name) for name in public})
        else:
            self.frame.stars.append(origin)
