"""Rules in words."""

import textwrap
from collections.abc import Iterator, Sequence

from cacheon.report.line import Line
from cacheon.rules.model import Rule

_WIDTH = 88


def rule_lines(rule: Rule) -> Iterator[Line]:
    """One rule in full: id and title, why it matters, what to do."""
    yield [("bold", f"{rule.id}  {rule.title}"), ("dim", f"  ({rule.group})")]
    yield []
    yield from _paragraph(rule.why)
    yield []
    yield [("bold", "What to do")]
    yield from _paragraph(rule.remedy)


def rule_list_lines(rules: Sequence[Rule]) -> Iterator[Line]:
    """One line a rule, under its group's name."""
    group = ""
    for rule in rules:
        if rule.group != group:
            group = rule.group
            yield [("bold", group)]
        yield [("", f"  {rule.id}  {rule.title}")]


def _paragraph(text: str) -> Iterator[Line]:
    for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield [("", line)]
