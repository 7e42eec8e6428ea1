"""The least that must be true of a source before it is imported: it parses, and it
defines what its row declares."""

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from cacheon.bundle.model import Bundle
from cacheon.bundle.snapshot import digested
from cacheon.records.errors import InputError

_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF_8 = {"utf-8", "utf8", "utf_8", "utf-8-sig"}


def check_source(bundle: Bundle) -> None:
    """Parse every Python file of the bundle, and look for each row's callables.

    Raises InputError at the first that is unreadable or lacks one. Nothing is imported,
    and nothing is run."""
    root = Path(bundle.path)
    trees = {
        entry.path: _parse(digested(bundle, entry.path, entry.digest), str(root / entry.path))
        for entry in bundle.files
        if entry.path.endswith(".py")
    }
    for variant in bundle.variants:
        names = set(_bound(trees[variant.source]))
        coroutines = {
            node.name
            for node in trees[variant.source].body
            if isinstance(node, ast.AsyncFunctionDef)
        }
        for wanted in (variant.entry, variant.prepare):
            got = "no such name"
            if wanted in coroutines:
                got = "a coroutine, which would run nothing when it is called"
            elif not wanted or wanted in names or "*" in names:
                continue
            raise InputError(
                file=str(root / variant.source),
                place=f"ops[{variant.row}]",
                expected=f"`{wanted}` at the top level of the module",
                got=got,
            )


def _parse(data: bytes, file: str) -> ast.Module:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            file=file, place=f"byte {error.start}", expected="UTF-8", got="another encoding"
        ) from error
    if "\0" in text:
        raise InputError(file=file, expected="Python", got="a NUL byte")
    for number, line in enumerate(text.splitlines()[:2], 1):
        declared = _ENCODING.match(line)
        if declared and declared[1].lower() not in _UTF_8:
            # Python would import other text than the text that is read here.
            raise InputError(
                file=file, place=f"line {number}", expected="UTF-8", got=repr(declared[1])
            )
    try:
        with warnings.catch_warnings():
            # An invalid escape in a candidate's string is no business of the console.
            warnings.simplefilter("ignore")
            tree = ast.parse(text, filename=file)
            # What only the compiler sees: `return` outside a function, nesting too deep.
            compile(tree, file, "exec", dont_inherit=True)
            return tree
    except SyntaxError as error:
        raise InputError(
            file=file, place=f"line {error.lineno or 0}", expected="Python", got=error.msg
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        # Nesting that exhausts the parser or the compiler.
        got = str(error) or "nesting that is too deep"
        raise InputError(file=file, expected="Python", got=got) from error


def _bound(tree: ast.Module) -> Iterator[str]:
    """Names bound at the top level, inside `if`, `try` and their kind too; `*` for a star
    import. Function and class bodies have scopes of their own."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case (
                ast.Lambda() | ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp()
            ):
                pass
            case _:
                waiting.extend(ast.iter_child_nodes(node))
