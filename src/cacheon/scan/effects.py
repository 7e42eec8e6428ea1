"""What an arm of a branch leaves behind, of what it did."""

from collections.abc import Set

from cacheon.scan.events import Effect
from cacheon.scan.values import Names

_LASTING = frozenset({"write", "keep", "take"})
_LOCAL = ("get_", "is_", "Work", "P2POp")
RECEIVES = frozenset({"recv", "irecv", "recv_object_list", "recv_anysource"})
SENDS = frozenset({"send", "isend", "send_object_list"})
_BETWEEN_TWO = RECEIVES | SENDS | {"batch_isend_irecv"}
"""They may differ from rank to rank: who sends what to whom is the ranks' own affair."""


def lasting(effects: Set[Effect]) -> set[Effect]:
    """What was written, kept or taken, without which part of it."""
    return {effect[:2] for effect in effects if effect[0] in _LASTING}


def collectives(effects: Set[Effect]) -> Names:
    """Names of the calls that every rank of a group has to make."""
    names = {effect[1].rpartition(".")[2] for effect in effects if effect[0] == "collective"}
    return frozenset(n for n in names if not n.startswith(_LOCAL) and n not in _BETWEEN_TWO)
