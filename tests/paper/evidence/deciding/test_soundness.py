"""A requirement that contradicts itself is found out, each rule both ways."""

from collections.abc import Callable

import msgspec
import pytest
from tests.paper.evidence.deciding.world import CASES, KEYS, REDUCE, SILU, WANTED, fresh

from cacheon.evidence.case import case_digest
from cacheon.evidence.requirement import RequiredVariant, Requirement
from cacheon.evidence.soundness import unsound

replace = msgspec.structs.replace
SMALL, LARGE, RING = WANTED.variants


def having(*variants: RequiredVariant) -> Requirement:
    return replace(WANTED, variants=variants)


def relabelled() -> Requirement:
    call: dict[str, str | int] = {**CASES[3].descriptor.call, "num_tokens": 5}
    case = replace(CASES[3], descriptor=replace(CASES[3].descriptor, call=call))
    return having(SMALL, replace(LARGE, cases=(case,)), RING)


def misnamed(digest: str) -> Requirement:
    return having(SMALL, replace(LARGE, cases=(replace(CASES[3], case=digest),)), RING)


def worldless(world: str | int) -> Requirement:
    descriptor = replace(CASES[4].descriptor, call={"world_size": world})
    case = replace(CASES[4], descriptor=descriptor, case=case_digest(descriptor))
    return having(SMALL, LARGE, replace(RING, cases=(case,)))


UNSOUND: dict[str, tuple[Callable[[], Requirement], str]] = {
    "no-member": (lambda: replace(WANTED, members=()), "no member"),
    "member-twice": (
        lambda: replace(WANTED, members=WANTED.members * 2),
        f"member {SILU} twice",
    ),
    "foreign-variant": (
        lambda: replace(WANTED, members=WANTED.members[:1]),
        f"variant {REDUCE}/ring of no member",
    ),
    "variant-twice": (
        lambda: having(SMALL, LARGE, replace(LARGE, cases=()), RING),
        f"variant {SILU}/large twice",
    ),
    "case-twice": (
        lambda: having(replace(SMALL, cases=(*SMALL.cases, CASES[0])), LARGE, RING),
        f"case {CASES[0].case} twice",
    ),
    "case-of-another-variant": (
        lambda: having(replace(SMALL, cases=CASES[:4]), RING),
        f"case {CASES[3].case} is not of variant {SILU}/small",
    ),
    "case-of-another-slot": (
        lambda: having(SMALL, replace(LARGE, cases=(*LARGE.cases, CASES[4]))),
        f"case {CASES[4].case} is not of variant {SILU}/large",
    ),
    "other-digest": (relabelled, f"case {CASES[3].case} is not the digest of its descriptor"),
    "lower-digest": (
        lambda: misnamed("0" * 64),
        f"case {'0' * 64} is not the digest of its descriptor",
    ),
    "higher-digest": (
        lambda: misnamed("f" * 64),
        f"case {'f' * 64} is not the digest of its descriptor",
    ),
    "no-world": (lambda: worldless("two"), "has no world size"),
    "empty-world": (lambda: worldless(0), "has no world size"),
    "covered-yet-missing": (
        lambda: having(SMALL, replace(LARGE, missing=("num_tokens=8192",)), RING),
        f"variant {SILU}/large is covered, and misses something",
    ),
    "not-routed": (
        lambda: having(SMALL, replace(LARGE, graph_safe="unset"), RING),
        f"variant {SILU}/large applies where its declaration does not route it",
    ),
    "declared-unsafe": (
        lambda: having(SMALL, replace(LARGE, graph_safe="false"), RING),
        f"variant {SILU}/large applies where its declaration does not route it",
    ),
    "one-replay": (lambda: replace(WANTED, replays=1), "required, with 1 of 2 replays"),
    "no-replay": (
        lambda: replace(WANTED, replays=0, probes=("growth",)),
        "required, with 0 of 1 replays",
    ),
    "observer-twice": (
        lambda: replace(WANTED, observers=WANTED.observers[:1] * 2),
        f"observer {KEYS[0]} twice",
    ),
    "quorum": (lambda: replace(WANTED, quorum=4), "4 observers must agree, of 3"),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_a_contradiction_is_said(name: str) -> None:
    make, said = UNSOUND[name]
    assert any(text.endswith(said) for text in unsound(make())), unsound(make())


@pytest.mark.parametrize(
    "name", [each for each in UNSOUND if each not in ("no-member", "member-twice")]
)
def test_it_is_said_alone(name: str) -> None:
    make, said = UNSOUND[name]
    (only,) = unsound(make())
    assert only.endswith(said)


SOUND: dict[str, Requirement] = {
    "whole": WANTED,
    "safe": having(SMALL, replace(LARGE, graph_safe=fresh("true")), RING),
    "uncovered": having(replace(SMALL, covered=False, missing=("num_tokens",)), LARGE, RING),
    "not-routed": having(
        SMALL,
        replace(LARGE, graph_safe="false", cases=(replace(CASES[3], applicable=False),)),
        RING,
    ),
    "no-graph": replace(
        having(SMALL, replace(LARGE, graph_safe="false"), RING), graph_required=False, replays=0
    ),
    "two-replays": replace(WANTED, replays=2),
    "one-replay": replace(WANTED, replays=1, probes=("growth",)),
    "no-soak": replace(WANTED, soak=0),
    "all-must-agree": replace(WANTED, quorum=3),
    "world-of-one": worldless(1),
    "empty-variant": having(SMALL, replace(LARGE, cases=()), RING),
    "member-without-variant": having(SMALL, LARGE),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_fits_together_is_sound(name: str) -> None:
    assert unsound(SOUND[name]) == ()
