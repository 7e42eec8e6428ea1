"""Every rule, by id: one source for the engine's findings, the scan and the docs."""

from cacheon.records.errors import InputError
from cacheon.rules import (
    allocation,
    declarations,
    groups,
    hostility,
    staleness,
    state,
    streams,
    synchronization,
    writes,
)
from cacheon.rules.model import Rule

__all__ = ["RULES", "Rule", "rule"]

RULES: dict[str, Rule] = {
    rule.id: rule
    for module in (
        synchronization,
        writes,
        staleness,
        streams,
        allocation,
        groups,
        state,
        declarations,
        hostility,
    )
    for rule in module.RULES
}
"""In the order of the ids."""


def rule(id: str) -> Rule:
    """The rule of this id (case and surrounding blanks do not matter). Raises InputError,
    with near ids or rules whose title has the word, where there is none."""
    written = id.strip().upper()
    if written in RULES:
        return RULES[written]
    word = id.strip().lower()
    near = [known for known in RULES if known[:3] == written[:3]] if written[:2] == "CG" else []
    near = near or [each.id for each in RULES.values() if word and word in each.title.lower()]
    expected = f"one of {', '.join(near)}" if near else "a rule id such as CG203"
    expected += " (`cacheon explain --list`)"
    raise InputError(place="rule", expected=expected, got=repr(id))
