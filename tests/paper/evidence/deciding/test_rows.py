"""What one row shows and what it leaves open, each rule both ways."""

from typing import Any

import msgspec
import pytest
from tests.paper.evidence.deciding.world import (
    DECLINED,
    FIRST,
    GROUP,
    REDUCE,
    WANTED,
    a_rank,
    a_row,
    fresh,
    required_case,
)

from cacheon.contract.slots import SLOTS
from cacheon.evidence.observation import ObservedFinding, OrderObservation, RankObservation
from cacheon.evidence.requirement import RequiredCase
from cacheon.evidence.rows import (
    ADVICE,
    CLASS_OF,
    FORBIDDEN_NODES,
    Said,
    asked_of,
    failures,
    gaps,
    ranks_of,
)
from cacheon.rules.catalogue import RULES

replace = msgspec.structs.replace
ASKED = asked_of(WANTED)
STAGES = a_rank(0).orders[0].stages


def finding(rule: str = "CG203", stage: Any = "replay", file: str = "k.py") -> ObservedFinding:
    return ObservedFinding(rule=rule, stage=stage, message="half is poison", file=file, line=9)


def with_order(rank: RankObservation, **changes: Any) -> RankObservation:
    """The rank with its second order changed."""
    first, second = rank.orders
    return replace(rank, orders=(first, replace(second, **changes)))


def judged(case: RequiredCase = FIRST, **changes: Any) -> tuple[Said, Said]:
    row = replace(a_row(case), **changes)
    return failures(case, row, ASKED), gaps(case, row, ASKED)


@pytest.mark.parametrize("case", [FIRST, DECLINED, GROUP])
def test_a_whole_row_shows_nothing_and_leaves_nothing_open(case: RequiredCase) -> None:
    assert judged(case) == ([], [])


# --- failures ------------------------------------------------------------------------------------


def test_applicability_is_as_required() -> None:
    assert judged(applicable=False)[0] == [("applicability-differs", "required: applicable")]
    assert judged(failure="not_applicable")[0] == [
        ("applicability-differs", "required: applicable")
    ]
    assert judged(failure=fresh("not_applicable"))[0] == judged(failure="not_applicable")[0]
    assert judged(DECLINED, applicable=True)[0] == [
        ("applicability-differs", "required: not applicable")
    ]


@pytest.mark.parametrize("failure", ["eager", "capture", "replay"])
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("case", [FIRST, DECLINED, GROUP])
def test_a_named_failure_counts_whatever_else_the_row_says(
    failure: str, complete: bool, case: RequiredCase
) -> None:
    said, _ = judged(case, failure=failure, complete=complete, infrastructure="the driver fell")
    assert said == [(f"failed-{failure}", "no finding says why")]


def test_the_class_that_the_row_names_goes_before_its_stage() -> None:
    said, _ = judged(failure="capture", stage="eager", findings=(finding(),))
    assert [code for code, _ in said] == ["failed-capture"]


@pytest.mark.parametrize(("stage", "named"), CLASS_OF.items())
def test_a_stage_or_a_finding_shows_a_failure_that_is_not_named(stage: str, named: str) -> None:
    assert judged(stage=stage)[0] == [(f"failed-{named}", f"stage {stage}")]
    said, _ = judged(findings=(finding(stage=stage),))
    assert said == [(f"failed-{named}", "CG203 at k.py:9: half is poison")]


def test_the_course_s_own_classes_are_meant() -> None:
    assert {
        **dict.fromkeys(["load", "prepare", "warmup", "eager"], "eager"),
        "capture": "capture",
        **dict.fromkeys(["replay", "perturb", "burst", "soak"], "replay"),
    } == CLASS_OF


def test_advice_is_no_failure_and_every_other_rule_is() -> None:
    assert {"CG807"} == ADVICE and set(RULES) > ADVICE
    assert judged(findings=(finding("CG807"),)) == ([], [])
    for rule in {*RULES, "CG999"} - ADVICE:
        said, _ = judged(findings=(finding("CG807", "eager"), finding(rule, file="")))
        assert said == [("failed-replay", f"{rule}: half is poison")]


def test_the_detail_counts_findings_and_is_one_line() -> None:
    loud = replace(finding(), message="a\u2028b" + "x" * 1000)
    said, _ = judged(failure="replay", findings=(finding("CG807"), loud, finding(), finding()))
    detail = said[0][1]
    assert detail.startswith("CG203 at k.py:9: a\\u2028bxxx") and detail.endswith("…, and 2 more")
    assert len(detail) < 330
    said, _ = judged(failure="replay", findings=(loud,))
    assert len(said[0][1]) == 300
    said, _ = judged(failure="replay", findings=(finding(), finding()))
    assert said[0][1] == "CG203 at k.py:9: half is poison, and 1 more"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"replays_passed": 7}, "7 of 8 replays right, 256 of 256 in bursts"),
        ({"soak_passed": 255}, "8 of 8 replays right, 255 of 256 in bursts"),
        ({"replays_completed": 1, "replays_passed": 0}, "0 of 1 replays right, 256 of 256"),
    ],
)
@pytest.mark.parametrize("complete", [True, False])
def test_an_answer_that_was_not_right_is_a_failure(
    changes: dict[str, int], detail: str, complete: bool
) -> None:
    said, left = judged(ranks=(with_order(a_rank(0), **changes),), complete=complete)
    assert [code for code, _ in said] == ["failed-replay"]
    assert "row-incoherent" not in [code for code, _ in left]
    assert said[0][1].startswith(f"rank 0, ascending: {detail}")


def test_one_wrong_rank_is_a_failure() -> None:
    ranks = (a_rank(0), with_order(a_rank(1), replays_passed=0))
    said, _ = judged(GROUP, ranks=ranks)
    assert said == [
        ("failed-replay", "rank 1, ascending: 0 of 8 replays right, 256 of 256 in bursts")
    ]


@pytest.mark.parametrize("kind", sorted(FORBIDDEN_NODES))
def test_a_forbidden_node_is_a_failure_without_a_finding(kind: str) -> None:
    assert judged(nodes={"kernel": 3, kind: 1})[0] == [("failed-capture", "no finding says why")]
    assert judged(nodes={"kernel": 3, kind: 0, "memset": 1}) == ([], [])


def test_the_forbidden_nodes_are_these() -> None:
    assert {"host", "allocation", "free", "conditional"} == FORBIDDEN_NODES


def test_compilation_is_within_what_is_approved() -> None:
    assert judged(compilers=()) == ([], [])
    said, _ = judged(compilers=("nvcc", "triton", "inductor"))
    assert said == [("compilation-not-approved", "inductor, nvcc")]


def test_every_failure_of_a_row_is_said() -> None:
    said, _ = judged(applicable=False, failure="eager", compilers=("nvcc",))
    assert [code for code, _ in said] == [
        "applicability-differs",
        "failed-eager",
        "compilation-not-approved",
    ]


# --- gaps ----------------------------------------------------------------------------------------


def test_an_incomplete_row_says_why_and_nothing_that_follows_from_it() -> None:
    assert judged(complete=False, ranks=()) == ([], [("incomplete", "the row gives no cause")])
    assert judged(infrastructure="disc\u2028full", ranks=()) == (
        [],
        [("incomplete", "disc\\u2028full")],
    )
    assert judged(DECLINED, complete=False)[1][0][0] == "incomplete"


def test_a_case_that_does_not_apply_says_so_and_needs_no_more() -> None:
    assert judged(DECLINED, probes=(), graph_required=False) == ([], [])
    assert judged(DECLINED, failure=fresh("not_applicable")) == ([], [])
    incoherent = [("row-incoherent", "not applicable, yet of another class")]
    assert judged(DECLINED, failure="none") == ([], incoherent)
    assert judged(DECLINED, failure="replay")[1] == incoherent


def test_the_regime_is_the_required_one() -> None:
    assert judged(graph_required=False) == ([], [("graph-differs", "required: yes")])
    eager = asked_of(replace(WANTED, graph_required=False))
    assert gaps(FIRST, a_row(FIRST), eager) == [("graph-differs", "required: no")]


def test_every_rank_is_there_once() -> None:
    assert judged(GROUP, ranks=(a_rank(1),)) == ([], [("rank-missing", "rank 0")])
    assert judged(ranks=()) == ([], [("rank-missing", "rank 0")])
    assert judged(ranks=(a_rank(0), a_rank(0))) == ([], [("row-incoherent", "ranks [0, 0] of 1")])
    assert judged(GROUP, ranks=(a_rank(0), a_rank(1), a_rank(2))) == (
        [],
        [("row-incoherent", "ranks [0, 1, 2] of 2")],
    )


def test_a_world_may_be_large() -> None:
    world = 300
    case = required_case(REDUCE, "ring", 8, world=world)
    assert gaps(case, a_row(case), ASKED) == []
    twice = replace(a_row(case), ranks=a_row(case).ranks * 2)
    ((code, detail),) = gaps(case, twice, ASKED)
    assert code == "row-incoherent"
    assert detail.startswith("ranks [0, 1, 2,") and detail.endswith("… of 300")
    assert len(detail) == len("ranks ") + 80 + len(" of 300")


def test_what_nobody_asked_for_is_one_reason_however_much_there_is() -> None:
    strangers = tuple(RankObservation(rank=rank, orders=()) for rank in range(9_000))
    assert [code for code, _ in judged(ranks=strangers)[1]] == ["row-incoherent"]
    short = replace(a_rank(0).orders[0], stages=())
    assert judged(ranks=orders(*[short] * 9_000))[1] == [
        ("order-missing", "rank 0, ascending"),
        ("row-incoherent", "rank 0: an order twice"),
    ]


def test_a_collective_has_the_ranks_of_its_world_and_any_other_call_one() -> None:
    assert ranks_of(GROUP) == 2
    assert ranks_of(required_case("norm.rmsnorm", "v", 8, world=4)) == 1
    call: dict[str, str | int] = {"num_tokens": 8}
    told = replace(GROUP, descriptor=replace(GROUP.descriptor, call=call))
    assert GROUP.descriptor.slot == REDUCE and ranks_of(told) == 0
    for name, slot in SLOTS.items():
        ranks = ranks_of(required_case(name, "v", 8, world=2))
        assert ranks == (2 if slot.kind == "collective" else 1), name
    for world, count in ((1024, 1024), (1025, 0), (1 << 52, 0)):
        assert ranks_of(required_case(REDUCE, "v", 8, world=world)) == count
    text: dict[str, str | int] = {"world_size": "2"}
    assert ranks_of(replace(GROUP, descriptor=replace(GROUP.descriptor, call=text))) == 0


def orders(*of: OrderObservation) -> tuple[RankObservation, ...]:
    return (RankObservation(rank=0, orders=of),)


def test_both_orders_are_there_once() -> None:
    first, second = a_rank(0).orders
    assert judged(ranks=orders(second, first)) == ([], [])
    assert judged(ranks=orders(first)) == ([], [("order-missing", "rank 0, ascending")])
    assert judged(ranks=orders(second)) == ([], [("order-missing", "rank 0, descending")])
    assert judged(ranks=orders(first, second, second)) == (
        [],
        [("row-incoherent", "rank 0: an order twice")],
    )


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_was_passed(stage: str) -> None:
    left = tuple(each for each in STAGES if each != stage)
    ranks = (with_order(a_rank(0), stages=left),)
    assert judged(ranks=ranks) == ([], [("stage-missing", f"rank 0, ascending: {stage}")])


def test_the_stages_are_those_that_are_asked_for() -> None:
    assert ASKED.stages == {"load", "warmup", "eager", "capture", "replay", "perturb", "soak"}
    no_soak = asked_of(replace(WANTED, soak=0))
    assert no_soak.stages == ASKED.stages - {"soak"}
    undisturbed = asked_of(replace(WANTED, probes=("growth",)))
    assert undisturbed.stages == ASKED.stages - {"perturb"}
    eager = asked_of(replace(WANTED, graph_required=False))
    assert eager.stages == {"load", "warmup", "eager"}


@pytest.mark.parametrize(
    ("changes", "code", "detail"),
    [
        ({"replays_completed": 7, "replays_passed": 7}, "replay-count", "7 of 8"),
        ({"replays_completed": 9, "replays_passed": 9}, "replay-count", "9 of 8"),
        ({"soak_completed": 255, "soak_passed": 255}, "soak-count", "255 of 256"),
        ({"soak_completed": 257, "soak_passed": 257}, "soak-count", "257 of 256"),
        ({"replays_passed": 9}, "row-incoherent", "more answers right than compared"),
        ({"soak_passed": 257}, "row-incoherent", "more answers right than compared"),
    ],
)
def test_counts_are_the_required_ones(changes: dict[str, int], code: str, detail: str) -> None:
    ranks = (with_order(a_rank(0), **changes),)
    assert judged(ranks=ranks) == ([], [(code, f"rank 0, ascending: {detail}")])


def test_where_no_graph_is_asked_for_counts_are_no_matter() -> None:
    eager = asked_of(replace(WANTED, graph_required=False))
    row = replace(a_row(FIRST), graph_required=False, ranks=(a_rank(0, 0, 0),))
    assert gaps(FIRST, row, eager) == failures(FIRST, row, eager) == []


def test_every_probe_ran() -> None:
    assert judged(probes=("perturb", "growth", "another")) == ([], [])
    assert judged(probes=("another", "perturb")) == ([], [("probe-missing", "growth")])
    assert judged(probes=()) == ([], [("probe-missing", "growth"), ("probe-missing", "perturb")])
