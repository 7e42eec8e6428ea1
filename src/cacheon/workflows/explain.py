"""`explain`: what a rule or a grade's reason code means, and what to do about it."""

from cacheon.evidence.reasons import REASONS, ReasonCode
from cacheon.rules.catalogue import RULES, rule
from cacheon.rules.model import Rule


def explain(identity: str) -> Rule | ReasonCode:
    """The rule of this id, or the reason code of this name. Raises InputError, with near
    ids, where there is neither."""
    return REASONS.get(identity.strip().lower()) or rule(identity)


def list_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the ids."""
    return tuple(RULES.values())
