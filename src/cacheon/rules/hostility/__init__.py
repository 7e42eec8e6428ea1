"""CG9xx: a candidate that ends, leaves or interferes."""

from cacheon.rules.hostility import (
    child,
    died,
    environment,
    interference,
    left,
    network,
    not_understood,
    undeclared,
    unpickled,
    unseen_code,
)

RULES = (
    died.RULE,
    left.RULE,
    not_understood.RULE,
    child.RULE,
    interference.RULE,
    network.RULE,
    unseen_code.RULE,
    unpickled.RULE,
    environment.RULE,
    undeclared.RULE,
)
