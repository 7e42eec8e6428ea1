"""Stores in words: what they hold, how they are, what was swept."""

from collections.abc import Iterator, Sequence

from cacheon.evidence.store.fsck import Health
from cacheon.evidence.store.index import Listed
from cacheon.evidence.store.sweep import Swept
from cacheon.records.errors import one_line
from cacheon.report.line import Line

_COUNTS = ("blobs", "bytes")
_SOUND = ("orphans", "leftovers")
"""What interrupted publishers leave: no damage."""


def listing_lines(records: Sequence[Listed]) -> Iterator[Line]:
    """One line a record: kind, digest, facts; digests among the facts are cut short."""
    width = max((len(each.kind) for each in records), default=0)
    for each in records:
        yield [
            ("bold", f"{each.kind:<{width}}"),
            ("", f"  {each.digest}"),
            ("dim", f"  {fact_words(each.facts)}"),
        ]
    if not records:
        yield [("dim", "nothing of the kind is stored")]


def fact_words(facts: dict[str, str]) -> str:
    """`name=value` of each fact."""
    return " ".join(f"{name}={_short(value)}" for name, value in facts.items() if value)


def health_lines(health: Health) -> Iterator[Line]:
    """Every finding on a line of its own, damage first; then one line that sums up."""
    if health.unfinished:
        yield [
            ("bold", "no store yet"),
            ("", "  making it was interrupted: nothing was ever stored"),
        ]
        return
    others = (*_COUNTS, *_SOUND, "unfinished")
    damage = [name for name in Health.__struct_fields__ if name not in others]
    for style, names in (("red", damage), ("yellow", list(_SOUND))):
        for name in names:
            for place in getattr(health, name):
                yield [(style, f"{name:<9}"), ("", f"  {one_line(place)}")]
    word, style = ("sound", "green") if health.sound else ("damaged", "red")
    left = len(health.orphans) + len(health.leftovers)
    yield [
        ("bold " + style, word),
        ("", f"  {health.blobs} records, {health.bytes} bytes"),
        ("dim", f", {left} to sweep" if left else ""),
    ]


def swept_lines(swept: Swept, dry_run: bool) -> Iterator[Line]:
    """What went, or would go, one a line."""
    for kind, names in (("leftover", swept.leftovers), ("orphan", swept.orphans)):
        for name in names:
            yield [("", f"{kind:<8}  {one_line(name)}")]
    done = "would remove" if dry_run else "removed"
    count = len(swept.leftovers) + len(swept.orphans)
    yield [("bold", f"{done} {count}"), ("", f", {swept.bytes} bytes")]


def _short(value: str) -> str:
    return one_line(f"{value[:12]}…" if len(value) == 64 else value, 80)
