"""`# cacheon: ignore[CG101] reason`: findings that the source answers for."""

import io
import re
import tokenize
from dataclasses import dataclass

from cacheon.rules.catalogue import RULES

_MARK = re.compile(r"#\s*cacheon:\s*(?P<verb>\w+)(?P<rest>.*)")
_IGNORE = re.compile(r"\[(?P<rules>[^\]]*)\]\s*(?P<reason>.*)")
_SHORTEST = 3
"""Letters of a reason: a word at least."""


@dataclass(frozen=True)
class Ignores:
    """`lines`: line → rule → reason. `wrong`: lines whose comment cannot stand, and why."""

    lines: dict[int, dict[str, str]]
    wrong: tuple[tuple[int, str], ...]

    def reason(self, rule: str, line: int) -> str:
        """Why a finding on this line is left; "" where nothing says so. CG9xx cannot be
        left: they are about what may run at all."""
        if rule.startswith("CG9"):
            return ""
        return self.lines.get(line, {}).get(rule, "")


def ignores(text: str) -> Ignores:
    """The ignore comments of a source. A comment speaks for its own line, or, alone on a line,
    for the next line of code. Where the text is no Python, none speaks."""
    if "cacheon:" not in text:
        return Ignores({}, ())
    try:
        return _read(text)
    except (tokenize.TokenError, SyntaxError):
        first = text[: text.index("cacheon:")].count("\n") + 1
        return Ignores({}, ((first, "the comments of this source cannot be read"),))


def _read(text: str) -> Ignores:
    found: dict[int, dict[str, str]] = {}
    wrong: list[tuple[int, str]] = []
    waiting: list[dict[str, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            rules, fault = _parsed(token.string)
            if fault:
                wrong.append((line, fault))
            elif rules and token.line[: token.start[1]].strip():
                found.setdefault(line, {}).update(rules)
            elif rules:
                waiting.append(rules)
        elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE):
            for rules in waiting:
                found.setdefault(line, {}).update(rules)
            waiting.clear()
    return Ignores(found, tuple(wrong))


def _parsed(comment: str) -> tuple[dict[str, str], str]:
    """Rule → reason, and what is wrong with the comment."""
    mark = _MARK.search(comment)
    if mark is None:
        return {}, ""
    body = _IGNORE.match(mark["rest"]) if mark["verb"] == "ignore" else None
    if body is None:
        return {}, "expected `cacheon: ignore[RULE] reason`"
    ids = [each.strip() for each in body["rules"].split(",")]
    reason = body["reason"].strip()
    unknown = [each for each in ids if each not in RULES]
    if unknown:
        return {}, f"no such rule: {', '.join(unknown) or 'none given'}"
    if len(reason) < _SHORTEST:
        return {}, "an ignore comment needs a reason"
    return dict.fromkeys(ids, reason), ""
