"""What one bound row shows of its case: failures, and what it leaves open.

Only raw fields are read, each against the requirement; what a row calls itself
(`failure = "none"`) excuses nothing that its other fields show.
"""

from functools import lru_cache
from typing import NamedTuple

from cacheon.evidence.observation import (
    ORDERS,
    Observation,
    ObservedFinding,
    OrderName,
    OrderObservation,
    RankObservation,
    Stage,
)
from cacheon.evidence.requirement import RequiredCase, Requirement
from cacheon.records.errors import one_line

CLASS_OF: dict[Stage, str] = {
    "load": "eager",
    "prepare": "eager",
    "warmup": "eager",
    "eager": "eager",
    "capture": "capture",
    "replay": "replay",
    "perturb": "replay",
    "burst": "replay",
    "soak": "replay",
}
"""The class of a failure by the stage it shows in."""
ADVICE = frozenset({"CG807"})
"""Rules whose finding is advice; every other finding is a failure."""
FORBIDDEN_NODES = frozenset({"host", "allocation", "free", "conditional"})
"""Kinds of graph node that replay something else than device work on fixed storage."""

COLLECTIVES = frozenset({"moe.fused_experts_reduce"})
"""Slots that ranks call together beside those named `collective.`: written down, so that old
bytes are regraded without the contract that was installed."""
MOST_RANKS = 1024
"""Of one group: each that is missing is a reason of its own."""
PERTURB = "perturb"
"""The probe that is a stage of the course, too: replays after it are compared."""

Said = list[tuple[str, str]]
"""Pairs of a reason code and a detail for people."""
Shared = tuple[tuple[str, str], ...]
"""The same where it is remembered, and nobody may add to it."""


class Asked(NamedTuple):
    """What the requirement asks of every applicable row; `ranks` of one case."""

    graph: bool
    stages: frozenset[str]
    replays: int
    soak: int
    probes: frozenset[str]
    compilation: frozenset[str]


def asked_of(requirement: Requirement) -> Asked:
    """The stages are those of the course: `load` is passed once prepare has returned, too,
    bursts are what the soak is made of, and who asks for no perturbation gets none."""
    stages = ["load", "warmup", "eager"]
    if requirement.graph_required:
        stages += ["capture", "replay"]
        if PERTURB in requirement.probes:
            stages.append("perturb")
        if requirement.soak:
            stages.append("soak")
    return Asked(
        graph=requirement.graph_required,
        stages=frozenset(stages),
        replays=requirement.replays,
        soak=requirement.soak,
        probes=frozenset(requirement.probes),
        compilation=frozenset(requirement.compilation),
    )


def ranks_of(case: RequiredCase) -> int:
    """How many ranks must have seen the case: all of the world for a collective, else one.

    0 where a collective's call does not say how large its world is, or says what none can be."""
    slot = case.descriptor.slot
    if not slot.startswith("collective.") and slot not in COLLECTIVES:
        return 1
    world = case.descriptor.call.get("world_size")
    return world if isinstance(world, int) and world <= MOST_RANKS else 0


def failures(case: RequiredCase, row: Observation, asked: Asked) -> Said:
    """What speaks against the candidate, whether the row is complete or not.

    1. Applicability other than required. 2. A failure, by the class that the row names; else
    by what shows in spite of it. 3. A kind of compilation that is not approved."""
    said: Said = []
    # 1.
    if row.applicable != case.applicable or (case.applicable and row.failure == "not_applicable"):
        required = "applicable" if case.applicable else "not applicable"
        said.append(("applicability-differs", f"required: {required}"))
    # 2.
    failed = _failed(row)
    if failed:
        said.append((f"failed-{failed}", _what_failed(row)))
    # 3.
    strange = set(row.compilers) - asked.compilation
    if strange:
        said.append(("compilation-not-approved", one_line(", ".join(sorted(strange)))))
    return said


def gaps(case: RequiredCase, row: Observation, asked: Asked) -> Said:
    """What keeps a row from showing that its case passed.

    1. It is not complete: then what else it lacks follows from that, and is not listed.
    2. A case that does not apply asks only that the row says so. 3. Another regime.
    4. Each rank once, with both orders once, every stage, and the counts asked for.
    5. The probes."""
    # 1.
    if not row.complete or row.infrastructure:
        return [("incomplete", one_line(row.infrastructure) or "the row gives no cause")]
    # 2.
    if not case.applicable:
        named = row.failure == "not_applicable"
        return [] if named else [("row-incoherent", "not applicable, yet of another class")]
    said: Said = []
    # 3.
    if row.graph_required != asked.graph:
        said.append(("graph-differs", f"required: {'yes' if asked.graph else 'no'}"))
    # 4.
    said += _gaps_of_ranks(row.ranks, ranks_of(case), asked)
    # 5.
    absent = asked.probes - set(row.probes)
    said += [("probe-missing", probe) for probe in sorted(absent)]
    return said


def _failed(row: Observation) -> str:
    """The class of the row's failure; empty where nothing of it shows one."""
    if row.failure not in ("none", "not_applicable"):
        return row.failure
    if row.stage:
        return CLASS_OF[row.stage]
    for finding in row.findings:
        if finding.rule not in ADVICE:
            return CLASS_OF[finding.stage]
    if _any_wrong(row.ranks):
        return "replay"
    return "capture" if any(map(row.nodes.get, FORBIDDEN_NODES)) else ""


@lru_cache
def _any_wrong(ranks: tuple[RankObservation, ...]) -> bool:
    return any(_wrong(order) for rank in ranks for order in rank.orders)


def _wrong(order: OrderObservation) -> bool:
    """An answer was compared, and was not right."""
    return (
        order.replays_passed < order.replays_completed or order.soak_passed < order.soak_completed
    )


def _what_failed(row: Observation) -> str:
    failing = [each for each in row.findings if each.rule not in ADVICE]
    if failing:
        more = f", and {len(failing) - 1} more" if len(failing) > 1 else ""
        return _finding(failing[0]) + more
    for rank in row.ranks:
        for order in rank.orders:
            if _wrong(order):
                return (
                    f"rank {rank.rank}, {order.order}: {order.replays_passed} of "
                    f"{order.replays_completed} replays right, {order.soak_passed} of "
                    f"{order.soak_completed} in bursts"
                )
    return f"stage {row.stage}" if row.stage else "no finding says why"


def _finding(finding: ObservedFinding) -> str:
    place = f" at {finding.file}:{finding.line}" if finding.file else ""
    return one_line(f"{finding.rule}{place}: {finding.message}", 300)


# Remembered: where ten thousand rows show all that is asked, their ranks say the same.
@lru_cache
def _gaps_of_ranks(ranks: tuple[RankObservation, ...], count: int, asked: Asked) -> Shared:
    seen = [rank.rank for rank in ranks]
    wanted = range(count)
    said: Said = [("rank-missing", f"rank {rank}") for rank in wanted if rank not in seen]
    if len(seen) != len(set(seen)) or not set(seen) <= set(wanted):
        said.append(("row-incoherent", f"ranks {one_line(str(seen), 80)} of {len(wanted)}"))
        # Of ranks that nobody asked for there may be as many as a row has room for: a reason
        # for each would make the grade too large to publish, and a failure beside it unseen.
        return tuple(said)
    for rank in ranks:
        said += _gaps_of_rank(rank, asked)
    return tuple(said)


def _gaps_of_rank(rank: RankObservation, asked: Asked) -> Said:
    seen: list[OrderName] = [order.order for order in rank.orders]
    where = f"rank {rank.rank}"
    said: Said = [("order-missing", f"{where}, {order}") for order in ORDERS if order not in seen]
    if len(seen) != len(set(seen)):
        said.append(("row-incoherent", f"{where}: an order twice"))
        return said
    for order in rank.orders:
        said += _gaps_of_order(f"{where}, {order.order}", order, asked)
    return said


def _gaps_of_order(where: str, order: OrderObservation, asked: Asked) -> Said:
    said: Said = []
    absent = asked.stages.difference(order.stages)
    said += [("stage-missing", f"{where}: {stage}") for stage in sorted(absent)]
    if order.replays_passed > order.replays_completed or order.soak_passed > order.soak_completed:
        said.append(("row-incoherent", f"{where}: more answers right than compared"))
    # Where no graph is asked for, replays prove nothing, and how many there were is no matter.
    if asked.graph and order.replays_completed != asked.replays:
        said.append(("replay-count", f"{where}: {order.replays_completed} of {asked.replays}"))
    if asked.graph and order.soak_completed != asked.soak:
        said.append(("soak-count", f"{where}: {order.soak_completed} of {asked.soak}"))
    return said
