"""CG6xx: process groups and collectives."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG601",
        title="process group created or destroyed in the entry",
        group="groups",
        why=(
            "Creating a group is itself a collective that blocks the host, exchanges addresses "
            "and allocates; destroying one tears down what captured graphs still use. Either "
            "hangs or fails under capture, and deadlocks where ranks disagree."
        ),
        remedy=(
            "Use the `group` argument. Whatever you derive from it (sub-groups, symmetric "
            "memory, handles) belongs in the first warm-up call, kept for the life of the "
            "process and keyed by the group."
        ),
    ),
)
