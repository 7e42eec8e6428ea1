"""Arenas in words: the list, and what one will require."""

from collections.abc import Iterator, Mapping, Sequence

from cacheon.contract.arenas import Arena, Published
from cacheon.records.errors import one_line
from cacheon.report.line import Line

Member = tuple[str, Sequence[str], Mapping[str, tuple[int, int]], str]
"""Slot, labels of its published calls, limits of its fields, the graph mode that its
descriptor always carries (else empty)."""
Outlook = tuple[Published, Sequence[tuple[str, Sequence[Member]]]]
"""An arena, and the members of each target that is shown."""


def arena_list_lines(arenas: Sequence[Published]) -> Iterator[Line]:
    """One line an arena: name, version, title."""
    width = max(len(each.arena.name) for each in arenas)
    for each in arenas:
        arena = each.arena
        yield [
            ("bold", f"{arena.name:<{width}}"),
            ("dim", f"  {arena.version}"),
            ("", f"  {one_line(arena.title)}"),
        ]
    yield [("dim", "`cacheon arena show TARGET` tells what will be required of a target")]


def arena_lines(published: Published) -> Iterator[Line]:
    """The policy of an arena, one fact a line."""
    arena = published.arena
    yield [
        ("bold", arena.name),
        ("dim", f"  version {arena.version}"),
        ("", f"  {one_line(arena.title)}"),
    ]
    for name, words in _facts(published):
        yield _fact(name, words)


def _fact(name: str, words: str) -> Line:
    return [("", f"  {name:<11} {words}")]


def _facts(published: Published) -> Iterator[tuple[str, str]]:
    arena = published.arena
    context = arena.context
    fixed = {
        "architecture": context.architecture,
        "dtype": context.dtype,
        "tp_size": context.tp_size,
        "world_size": context.world_size,
        **context.given,
    }
    yield "digest", published.digest
    yield "device", "cpu: practice, at best NO_DECISION" if arena.device == "cpu" else arena.device
    yield "context", " ".join(f"{name}={one_line(str(value))}" for name, value in fixed.items())
    yield "graphs", _graphs(arena)
    if arena.graph_required:
        yield "", "graph_mode = eager in a descriptor exempts nobody"
    yield "replays", f"{arena.replays} one at a time and {arena.soak} in bursts, in both orders"
    yield "probes", ", ".join(arena.probes) or "none"
    yield "compilation", ", ".join(arena.compilation) or "none is approved"
    yield "work", f"{arena.work_budget / 2**30:.2f} GiB of one call's inputs and outputs"
    yield "isolation", arena.isolation
    pinned = ", ".join(f"{each.name} {each.key[:12]}…" for each in arena.observers)
    keys = pinned or "none pinned: whoever requires pins them (--observer)"
    yield "observers", f"{arena.quorum} must agree; {keys}"
    for quant, bound in arena.bounds.items():
        numbers = f"tolerance {bound.tolerance:g}, row_error {bound.row_error:g}"
        yield "bounds", f"{one_line(quant)}: {numbers}"
        yield "", "published only: examinations apply the slot's numbers"
        if quant == arena.context.given.get("quant"):
            yield "", "and no requirement is written here: it is this arena's own quant"


def _graphs(arena: Arena) -> str:
    if not arena.graph_required:
        return "not required"
    return "required: only a variant that declares graph_safe = true is routed, and each must pass"


def outlook_lines(outlooks: Sequence[Outlook]) -> Iterator[Line]:
    """Every arena's policy with the limits of what is shown, then each target once: its
    published calls are the same in all of them."""
    for published, targets in outlooks:
        yield from arena_lines(published)
        limits = {
            field: ends
            for _, members in targets
            for member in members
            for field, ends in member[2].items()
        }
        words = " ".join(f"{field}={low}..{high}" for field, (low, high) in limits.items())
        yield _fact("open ends", f"close at {words}" if words else "ask for nothing")
    shown = {target: members for _, targets in outlooks for target, members in targets}
    for target, members in shown.items():
        yield from _target_lines(target, members)
    yield [("dim", "counts are jittered by the requirement's nonce; every end and every value")]
    yield [("dim", "that a domain declares becomes a case of its own")]


def _target_lines(target: str, members: Sequence[Member]) -> Iterator[Line]:
    words = "  every member must pass" if len(members) > 1 else ""
    yield [("bold", target), ("dim", words)]
    for slot, calls, _, live_mode in members:
        if slot != target:
            yield [("", f"  {slot}")]
        if live_mode:
            yield [
                ("", f"    descriptor: graph_mode={live_mode}, its live binding of today; it is")
            ]
            yield [("", "    captured and replayed all the same")]
        for call in calls:
            yield [("", f"    {call}")]
