"""Requirements: what they bind, which cases they hold, what can only fail."""

from typing import Any

import msgspec
import pytest
from tests.paper.evidence.requiring.world import (
    CPU,
    EPILOGUE,
    FINALIZE,
    GPU,
    ME,
    NONCE,
    RESIDUAL,
    RMS,
    SILU,
    a_bundle,
    a_launch,
    a_variant,
    an_arena,
    required,
)

from cacheon.contract.arenas import Bounds, PinnedKey, shipped_arena
from cacheon.contract.slots import SLOTS
from cacheon.contract.targets import TARGETS
from cacheon.evidence.binding import bind
from cacheon.evidence.contracts import contract_digest
from cacheon.evidence.requirement import Member, Observer, Policy, Requirement
from cacheon.evidence.requiring import foreseen, require, routed, seed_of
from cacheon.evidence.soundness import unsound
from cacheon.evidence.veto import decide
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256
from cacheon.records.errors import InputError, LimitExceeded


def test_a_requirement_binds_everything_that_it_came_from() -> None:
    arena = shipped_arena("h200-decode")
    found = required(a_variant(SILU, {"num_tokens": {"max": 64}}), arena=arena)
    assert found.target == SILU
    assert found.members == (Member(slot=SILU, contract=contract_digest(SLOTS[SILU])),)
    assert found.bundle == sha256(b"tree")
    assert found.launch == a_launch()
    assert found.nonce == NONCE
    assert found.observers == (ME,)
    assert found.policy == Policy(arena="h200-decode", version=1, digest=arena.digest)
    assert (found.replays, found.soak, found.quorum) == (8, 256, 1)
    assert found.graph_required
    assert found.isolation == "process"
    assert found.probes == ("growth", "perturb")
    assert found.compilation == ("triton", "inductor", "nvcc")
    assert found.context == {
        "dtype": "bfloat16",
        "architecture": "sm90",
        "graph_mode": "cuda_graph",
        "tp_size": 1,
        "world_size": 1,
    }
    (variant,) = found.variants
    assert (variant.slot, variant.variant, variant.graph_safe) == (SILU, "default", "true")
    assert (variant.source, variant.entry, variant.prepare) == ("kernels/k.py", "k", "")
    assert variant.covered
    assert 64 in {case.dims["T"] for case in variant.cases if case.applicable}
    assert unsound(found) == ()
    assert foreseen(found) == ()
    assert decode(encode(found), Requirement) == found


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_can_be_required_in_some_arena(target: str) -> None:
    collective = "h200-tp2" in {
        name for name in ("h200-decode", "h200-tp2") if target in shipped_arena(name).arena.targets
    }
    arena = an_arena("h200-tp2" if collective else "h200-decode")
    rows = [a_variant(slot, row=n) for n, slot in enumerate(TARGETS[target].members, 1)]
    found = required(*rows, target=target, arena=arena, launch=a_launch(GPU, GPU))
    assert [member.slot for member in found.members] == list(TARGETS[target].members)
    assert unsound(found) == ()
    assert foreseen(found) == ()
    for variant in found.variants:
        assert {"world_size": 2 if collective else 1}.items() <= variant.cases[
            0
        ].descriptor.call.items()


def test_the_nonce_draws_the_cases() -> None:
    one, again = required(a_variant(SILU)), required(a_variant(SILU))
    other = required(a_variant(SILU), nonce=sha256(b"another"))
    assert one == again
    assert one.variants != other.variants
    assert seed_of(NONCE) != seed_of(sha256(b"another"))
    assert 0 <= seed_of(NONCE) < 1 << 48


def test_rows_of_other_slots_are_not_selected() -> None:
    found = required(a_variant(SILU), a_variant(RMS, row=2))
    assert [variant.slot for variant in found.variants] == [SILU]


def test_on_a_cpu_the_cases_are_small() -> None:
    found = required(
        a_variant(SILU), arena=an_arena("rehearsal-cpu"), launch=a_launch(CPU, device="cpu")
    )
    assert max(case.dims["T"] for case in found.variants[0].cases) <= 64
    assert max(case.dims["d"] for case in found.variants[0].cases) <= 512


def test_a_prepared_row_and_an_undeclared_one_are_spelled() -> None:
    row = msgspec.structs.replace(a_variant("moe.fused_experts", graph_safe=None), prepare="p")
    (variant,) = required(row).variants
    assert (variant.prepare, variant.graph_safe) == ("p", "unset")
    assert required(a_variant(SILU, graph_safe=False)).variants[0].graph_safe == "false"


# --- what does not go together -------------------------------------------------------------

EIGHT = {"observers": (PinnedKey(name="they", key=sha256(b"theirs")),)}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"target": EPILOGUE}, "a target of this arena"),
    ({"bundle": a_bundle(a_variant(SILU), target=RMS)}, "competition.target"),
    ({"bundle": a_bundle(a_variant(RMS))}, "a row for activation.silu_and_mul, got none"),
    ({"launch": a_launch(CPU, device="cpu")}, "device cuda, got cpu"),
    ({"launch": msgspec.structs.replace(a_launch(), devices=())}, "1 or more devices, got 0"),
    (
        {"launch": a_launch(GPU, msgspec.structs.replace(GPU, memory=1))},
        "devices that are alike, got NVIDIA H200 beside NVIDIA H200",
    ),
    (
        {"launch": a_launch(msgspec.structs.replace(GPU, architecture="sm80"))},
        "architecture sm90, got sm80",
    ),
    ({"observers": ()}, "1 or more pinned keys, got 0"),
    ({"observers": (ME, Observer(key=ME.key, name="again"))}, "observer again"),
    ({"arena": an_arena(quorum=2)}, "2 or more pinned keys, got 1"),
    (
        {
            "arena": an_arena(
                context=msgspec.structs.replace(
                    an_arena().arena.context, given={"quant": "fp8", "model": "m"}
                ),
                bounds={"fp8": Bounds(tolerance=0.1, row_error=0.1)},
            )
        },
        "bounds.fp8",
    ),
]


@pytest.mark.parametrize(("changes", "line"), REFUSED, ids=[line for _, line in REFUSED])
def test_what_does_not_go_together_is_one_line(changes: dict[str, Any], line: str) -> None:
    asked: dict[str, Any] = {
        "bundle": a_bundle(a_variant(SILU)),
        "published": an_arena(),
        "launch": a_launch(),
        "target": SILU,
        "observers": (ME,),
    }
    if "arena" in changes:
        changes = {"published": changes["arena"]}
    with pytest.raises(InputError) as caught:
        require(**{**asked, **changes}, nonce=NONCE)
    assert line in caught.value.message


def test_two_ranks_need_two_devices() -> None:
    with pytest.raises(InputError, match="2 or more devices, got 1"):
        required(a_variant("collective.all_reduce"), arena=an_arena("h200-tp2"))


def test_the_arenas_own_keys_count() -> None:
    found = required(a_variant(SILU), arena=an_arena(quorum=2, **EIGHT))
    assert [observer.name for observer in found.observers] == ["they", "me"]


def test_bounds_of_another_quant_are_no_matter() -> None:
    bounds = {"fp8": Bounds(tolerance=0.1, row_error=0.1)}
    assert required(a_variant(SILU), arena=an_arena(bounds=bounds))


def test_what_no_store_would_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from cacheon.evidence import requiring

    small = msgspec.structs.replace(requiring.LIMITS, record_bytes=1000)
    monkeypatch.setattr(requiring, "LIMITS", small)
    with pytest.raises(LimitExceeded, match="a requirement of at most 1000 bytes"):
        required(a_variant(SILU))


# --- what can only fail ----------------------------------------------------------------------


def said(requirement: Requirement) -> list[tuple[str, str, str]]:
    """Code, slot and detail of what is foreseen, which the veto must foresee too."""
    reasons = foreseen(requirement)
    verdict = decide(requirement, bind(requirement, sha256(encode(requirement)), ()))
    failing = {(r.code, r.slot, r.variant) for r in verdict.reasons if r.code != "no-evidence"}
    assert failing == {(r.code, r.slot, r.variant) for r in reasons}
    assert verdict.decision == ("FAIL" if reasons else "NO_DECISION")
    return [(reason.code, reason.slot, reason.detail) for reason in reasons]


@pytest.mark.parametrize(("declared", "word"), [(None, "unset"), (False, "false")])
def test_graph_safe_not_declared_is_foreseen(declared: bool | None, word: str) -> None:
    found = required(a_variant(SILU, graph_safe=declared))
    assert not any(case.applicable for case in found.variants[0].cases)
    assert found.variants[0].larger == {}
    assert said(found) == [
        (
            "no-applicable-case",
            SILU,
            f"variant default: graph_safe is {word}, and the arena requires graphs",
        )
    ]


def test_where_graphs_are_not_required_nothing_has_to_be_declared() -> None:
    context = msgspec.structs.replace(an_arena().arena.context, graph_mode="eager")
    arena = an_arena(graph_required=False, context=context)
    found = required(a_variant(SILU, graph_safe=None), arena=arena)
    assert all(case.applicable for case in found.variants[0].cases)
    assert said(found) == []
    assert [routed(declared, False) for declared in (True, False, None)] == [True] * 3
    assert [routed(declared, True) for declared in (True, False, None)] == [True, False, False]


def test_an_undeclared_variant_beside_a_routed_one_fails_nobody() -> None:
    few = a_variant(SILU, {"num_tokens": {"max": 64}}, name="few", graph_safe=None)
    many = a_variant(SILU, {"num_tokens": {"min": 65}}, name="many", row=2)
    assert said(required(few, many)) == []


def test_a_domain_without_a_call_is_foreseen() -> None:
    for capabilities in ({"dtype": "float16"}, {"page_size": 16}, {"graph_mode": "eager"}):
        assert said(required(a_variant(SILU, capabilities))) == [
            (
                "no-applicable-case",
                SILU,
                "variant default: its domain admits no call of this arena",
            )
        ]


def test_a_member_without_a_row_is_foreseen() -> None:
    launch = a_launch(GPU, GPU)
    found = required(
        a_variant(RESIDUAL), target=EPILOGUE, arena=an_arena("h200-tp2"), launch=launch
    )
    assert said(found) == [("no-applicable-case", FINALIZE, "the bundle has no row for it")]


def test_a_domain_that_no_budget_covers_is_foreseen() -> None:
    less = an_arena(work_budget=1 << 30)
    wide = a_variant(SILU, {"num_tokens": 8192, "intermediate_dim": 32768})
    assert said(required(wide)) == []
    words = "a call of 1.50 GiB is more than the work budget of 1.00 GiB"
    ((code, _, detail),) = said(required(wide, arena=less))
    assert code == "no-applicable-case"
    assert f"variant default: num_tokens=8192: {words}" in detail
    partly = a_variant(SILU, {"intermediate_dim": [1024, 32768], "num_tokens": [8, 8192]})
    ((code, _, detail),) = said(required(partly, arena=an_arena(work_budget=16 << 20)))
    assert code == "domain-not-covered"
    assert "num_tokens=8192: a call of 0.05 GiB" in detail


def test_a_catalogue_call_beyond_the_budget_is_foreseen() -> None:
    ((code, _, detail),) = said(required(a_variant(SILU), arena=an_arena(work_budget=50 << 20)))
    assert code == "domain-not-covered"
    assert "a call of 96 MiB is more than the work budget of 50 MiB" in detail
