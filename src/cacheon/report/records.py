"""A stored record in words."""

from collections.abc import Iterator, Sequence

import msgspec

from cacheon.records.errors import one_line
from cacheon.report.line import Line

_LONGEST = 1 << 20
"""Characters of a line of JSON: no record is longer by much, and none is cut in earnest."""


def record_lines(
    kind: str,
    digest: str,
    size: int,
    facts: dict[str, str],
    references: Sequence[str],
    signatures: Sequence[str],
    record: object,
) -> Iterator[Line]:
    """What it is, the facts, what it rests on, then all that it holds as indented JSON."""
    yield [("bold", f"{kind} {digest}"), ("dim", f"  {size} bytes")]
    width = max(map(len, ("rests on", "signed by", *facts)))
    for name, value in facts.items():
        yield [("", f"  {name:<{width}}  {one_line(value, 200)}")]
    for key in signatures:
        yield [("", f"  {'signed by':<{width}}  key id {key}, unverified")]
    if references:
        yield [("", f"  {'rests on':<{width}}  {len(references)} records")]
    body = msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=2)
    for line in body.decode().split("\n"):
        yield [("dim", one_line(line, _LONGEST))]
