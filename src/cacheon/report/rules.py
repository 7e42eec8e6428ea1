"""Rules in words."""

import textwrap
from collections.abc import Iterator, Sequence

from cacheon.evidence.reasons import ReasonCode
from cacheon.report.line import Line
from cacheon.rules.model import Rule

_WIDTH = 88
_SEEN = {"scan": "`scan`", "rehearsal": "a rehearsal", "cuda": "a run on CUDA"}


def rule_lines(rule: Rule) -> Iterator[Line]:
    """One rule in full: id and title, why it matters, what to do, where it is found, and
    a source of each kind."""
    yield [("bold", f"{rule.id}  {rule.title}"), ("dim", f"  ({rule.group})")]
    yield []
    yield from _paragraph(rule.why)
    yield []
    yield [("bold", "What to do")]
    yield from _paragraph(rule.remedy)
    yield []
    yield [("bold", "Where it is found")]
    yield from _paragraph(_found(rule))
    for title, source in (("Instead of", rule.bad), ("write", rule.good)):
        yield []
        yield [("bold", title)]
        for line in source.splitlines():
            yield [("", f"    {line}" if line else "")]


def reason_lines(reason: ReasonCode) -> Iterator[Line]:
    """One reason code of a grade: what it says, to which decision it leads, what to do."""
    yield [("bold", f"{reason.code}  {reason.title}"), ("dim", f"  ({reason.leads})")]
    yield []
    yield [("bold", "What to do")]
    yield from _paragraph(reason.remedy)


def rule_list_lines(rules: Sequence[Rule]) -> Iterator[Line]:
    """One line a rule, under its group's name."""
    group = ""
    for rule in rules:
        if rule.group != group:
            group = rule.group
            yield [("bold", group)]
        yield [("", f"  {rule.id}  {rule.title}")]


def _found(rule: Rule) -> str:
    """Severity, confidence, and where a fault of this kind is seen."""
    seen = " and ".join(_SEEN[each] for each in rule.detected)
    said = f"{rule.severity.capitalize()}, seen by {seen}; stage {', '.join(rule.stages)}."
    if "scan" in rule.detected:
        return f"{said} A finding of the scan has {rule.confidence} confidence."
    return f"{said} The scan cannot tell: {rule.unscanned}."


def rule_page(rule: Rule) -> str:
    """The rule as a page of the docs, in Markdown."""
    return f"""# {rule.id}: {rule.title}

{_wrapped(rule.why)}

## What to do

{_wrapped(rule.remedy)}

## Where it is found

{_wrapped(_found(rule))}

## Instead of

```python
{rule.bad.rstrip()}
```

## Write

```python
{rule.good.rstrip()}
```
"""


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 95, break_long_words=False, break_on_hyphens=False)


def _paragraph(text: str) -> Iterator[Line]:
    for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield [("", line)]
