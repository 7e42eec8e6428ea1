"""CG7xx: what one call leaves behind for the next."""

from cacheon.rules.state import (
    carried_state,
    company,
    frozen_randomness,
)

RULES = (
    carried_state.RULE,
    company.RULE,
    frozen_randomness.RULE,
)
