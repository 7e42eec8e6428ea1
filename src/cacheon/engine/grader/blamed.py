"""What a line of the candidate's was doing as a capture refused it, by its words.

CUDA reports one and the same error for most of them. The ids are those by which the scan
and the rehearsal name the same line.
"""

import re

_TEXT = re.compile(r"""([rRbBuUfF]{0,2})("{3}|'{3}|"|')(.*?)(\2|$)""")
_COMMENT = re.compile(r"#.*$")
_WAITS = re.compile(r"synchronize|\.query\(|\bbarrier\(|\.elapsed_time\(")
_GROUPS = re.compile(r"new_group|process_group")
_PINNED = re.compile(r"pin_memory(\(|\s*=\s*True)")
_TO_THE_HOST = re.compile(r"""\.cpu\(|\.to\([^)]*["']cpu|\.type\([^)]*Tensor\b|\.type\(["']""")
_PYTHON_OBJECTS = re.compile(r"\.(item|tolist|numpy|__array__|is_nonzero|equal|allclose)\(")
_SIZES = re.compile(
    r"\b(nonzero|argwhere|masked_select|unique\w*|bincount|repeat_interleave|one_hot|tensor_split)"
    r"\(|\bwhere\([^,]*\)"
)
_BUILTINS = re.compile(
    r"(?<![\w.])(int|float|complex|str|repr|print|format|range|round)\(|\bmath\.\w+\("
    r"|\b(np|numpy)\.(asarray|array|copy)\(|\btorch\.(equal|allclose|is_nonzero)\(|\blinalg\."
    r"|\b(masked_fill_?|index_fill_?|(new_)?full(_like)?)\("
)
_MEMBERSHIP = re.compile(r"^(if|elif|while|assert)\s+(not\s+)?[\w.]+\s+(not\s+)?in\s+\w+\s*(:|,|$)")
_BRANCHES = re.compile(
    r"^(if|elif|while|assert)\b|\s(if|and|or)\s|\bnot\s|(?<![\w.])(bool|min|max|sorted|any|all)\("
)
_CONTAINS = re.compile(r"^(?!for\b)(?!.*\sfor\s).*\sin\s")
_FORMATTED = re.compile(r"""\b[rR]?[fF][rR]?["']""")
_INDEXED = re.compile(r"[\w\])]\[(?![^\]]*\.(shape|size)\b)[^\]]*[A-Za-z_]")
_MOVES = re.compile(r"\b\w*tensor\(|\basarray\(|copy_\(|\.(to|cuda|type_as)\(")
_STREAMS = re.compile(r"stream|event", re.IGNORECASE)

_IN_ORDER = (
    (_WAITS, "CG105"),
    (_GROUPS, "CG601"),
    (_PINNED, "CG503"),
    # What stays a tensor comes first: of `x.cpu().numpy()` it is the copy that waits.
    (_TO_THE_HOST, "CG102"),
    (_PYTHON_OBJECTS, "CG101"),
    (_SIZES, "CG103"),
    (_BUILTINS, "CG101"),
    (_MEMBERSHIP, "CG101"),
    (_BRANCHES, "CG103"),
    (_CONTAINS, "CG101"),
    (_FORMATTED, "CG101"),
    (_INDEXED, "CG103"),
    (_MOVES, "CG102"),
    (_STREAMS, "CG403"),
)


def rule_of_line(source: str) -> str:
    """The rule of what a line shows, "" where it shows nothing that a capture refuses.

    A line may show several things; then it is the one that is met first, or that is seldom
    innocent."""
    line = _COMMENT.sub("", _TEXT.sub(_emptied, source)).strip()
    return next((rule for words, rule in _IN_ORDER if words.search(line)), "")


def _emptied(text: re.Match[str]) -> str:
    """A string without its contents, which are no code; the host's name is kept."""
    prefix, quote, inside, _ = text.groups()
    return f"{prefix}{quote}{inside if inside.startswith('cpu') else ''}{quote}"
