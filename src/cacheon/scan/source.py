"""The least that must be true of a source before it is imported: it parses, and it
defines what its row declares."""

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

from cacheon.bundle.model import Bundle
from cacheon.bundle.tree import read_file
from cacheon.records.errors import InputError


def check_source(bundle: Bundle) -> None:
    """Parse every Python file of the bundle, and look for each row's callables.

    Raises InputError at the first that is unreadable or lacks one."""
    root = Path(bundle.path)
    trees = {
        entry.path: _parse(read_file(root, entry.path), str(root / entry.path))
        for entry in bundle.files
        if entry.path.endswith(".py")
    }
    for variant in bundle.variants:
        names = set(_defined(trees[variant.source].body))
        for wanted in (variant.entry, variant.prepare):
            if wanted and wanted not in names and "*" not in names:
                raise InputError(
                    file=str(root / variant.source),
                    place=f"ops[{variant.row}]",
                    expected=f"`{wanted}` at the top level of the module",
                    got="no such name",
                )


def _parse(data: bytes, file: str) -> ast.Module:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            file=file, place=f"byte {error.start}", expected="UTF-8", got="another encoding"
        ) from error
    try:
        with warnings.catch_warnings():
            # An invalid escape in a candidate's string is no business of the console.
            warnings.simplefilter("ignore")
            return ast.parse(text, filename=file)
    except SyntaxError as error:
        raise InputError(
            file=file, place=f"line {error.lineno or 0}", expected="Python", got=error.msg
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "nesting that is too deep"
        raise InputError(file=file, expected="Python", got=reason) from error


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    """Names bound at the top level, inside `if` and `try` too; `*` for a star import."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    yield alias.asname or alias.name.split(".")[0]
            case ast.Assign(targets=targets):
                for found in targets:
                    yield from (n.id for n in ast.walk(found) if isinstance(n, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If(body=inner, orelse=other) | ast.For(body=inner, orelse=other):
                yield from _defined([*inner, *other])
            case ast.With(body=inner):
                yield from _defined(inner)
            case ast.Try(body=inner, handlers=handlers, orelse=other, finalbody=final):
                caught = [statement for handler in handlers for statement in handler.body]
                yield from _defined([*inner, *caught, *other, *final])
