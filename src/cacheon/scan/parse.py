"""Bytes to a syntax tree, within bounds: what is hostile gets one clear line."""

import ast
import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from cacheon.records.errors import InputError, LimitExceeded

MOST_BYTES = 2 << 20
"""Of one source. A parser takes a hundred times its input in memory."""
MOST_NODES = 400_000
"""Of one tree; of torch's own, the longest has a quarter."""
DEEPEST = 200
"""Levels of a tree: what walks it is recursive."""
_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_LINE_END = re.compile("\r\n|\r|\n")
_LEAVES = frozenset({ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.alias})
_UTF_8 = {"utf-8", "utf8", "utf_8", "utf-8-sig"}


def parse(data: bytes, file: str, compiled: bool = True) -> ast.Module:
    """The tree of a Python source, one that `compile` accepts. Raises InputError, which
    names the line where there is one, and LimitExceeded."""
    if len(data) > MOST_BYTES:
        raise LimitExceeded(
            file=file, expected=f"a source of at most {MOST_BYTES} bytes", got="more"
        )
    text = decoded(data, file)
    try:
        with warnings.catch_warnings():
            # An invalid escape in a candidate's string is no business of the console.
            warnings.simplefilter("ignore")
            tree = ast.parse(text, filename=file)
            if compiled:
                # What only the compiler sees: `return` outside a function.
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


def decoded(data: bytes, file: str) -> str:
    """The text of a source. Raises InputError for anything that is not plain UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            file=file, place=f"byte {error.start}", expected="UTF-8", got="another encoding"
        ) from error
    if "\0" in text:
        raise InputError(file=file, expected="Python", got="a NUL byte")
    for number, line in enumerate(lines_of(text)[:2], 1):
        declared = _ENCODING.match(line)
        if declared and declared[1].lower() not in _UTF_8:
            # Python would import other text than the text that is read here.
            raise InputError(
                file=file, place=f"line {number}", expected="UTF-8", got=repr(declared[1])
            )
    return text


def lines_of(text: str) -> list[str]:
    """Lines as Python counts them: a form feed or U+2028 is part of one."""
    return _LINE_END.split(text)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector, which would look through every tree again and again:
    trees hold no circles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def children(node: ast.AST) -> list[ast.AST]:
    """As `ast.iter_child_nodes`, in a fifth of its time, without what holds nothing itself."""
    found: list[ast.AST] = []
    if type(node) in _LEAVES:
        return found
    for value in vars(node).values():
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def bounded(data: bytes, file: str) -> tuple[ast.Module, list[ast.AST]]:
    """The tree of a source that is small and flat enough to be walked, and all its nodes,
    level by level, but operators and their kind. Raises InputError, LimitExceeded."""
    tree = parse(data, file, compiled=False)
    level: list[ast.AST] = [tree]
    nodes: list[ast.AST] = []
    for _ in range(DEEPEST):
        nodes += level
        if len(nodes) > MOST_NODES:
            raise LimitExceeded(
                file=file, expected=f"a tree of at most {MOST_NODES} nodes", got="more"
            )
        level = [child for node in level for child in children(node)]
        if not level:
            return tree, nodes
    raise LimitExceeded(
        file=file,
        place=f"line {next((n.lineno for n in level if isinstance(n, ast.expr)), 0)}",
        expected=f"nesting of at most {DEEPEST} levels",
        got="more",
    )
