"""`explain`: what a rule means and what to do about it."""

from cacheon.rules.catalogue import RULES, rule
from cacheon.rules.model import Rule


def explain(identity: str) -> Rule:
    """The rule of this id. Raises InputError, with near ids, where there is none."""
    return rule(identity)


def list_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the ids."""
    return tuple(RULES.values())
