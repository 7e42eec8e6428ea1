"""CG6xx: process groups and collectives."""

from cacheon.rules.groups import (
    group_in_entry,
    uneven_collectives,
    wrong_sum,
)

RULES = (
    group_in_entry.RULE,
    uneven_collectives.RULE,
    wrong_sum.RULE,
)
