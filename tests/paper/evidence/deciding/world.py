"""A small world of evidence: a requirement, and rows that show everything it asks."""

from collections.abc import Sequence

import msgspec

from cacheon.evidence.binding import Bound, Committed, Delivered, Row, bind
from cacheon.evidence.case import CaseDescriptor, case_digest
from cacheon.evidence.delivery import DELIVERY, Delivery
from cacheon.evidence.launch import LAUNCH, DeviceIdentity, Launch
from cacheon.evidence.observation import (
    OBSERVATION,
    ORDERS,
    Observation,
    OrderObservation,
    RankObservation,
    Stage,
)
from cacheon.evidence.requirement import (
    REQUIREMENT,
    Member,
    Observer,
    Policy,
    RequiredCase,
    RequiredVariant,
    Requirement,
)
from cacheon.evidence.rows import ranks_of
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256

STAGES: tuple[Stage, ...] = ("load", "warmup", "eager", "capture", "replay", "perturb", "soak")
SILU, REDUCE = "activation.silu_and_mul", "collective.all_reduce"
KEYS = tuple(sha256(f"key {number}".encode()) for number in range(4))
RUNS = tuple(sha256(f"run {number}".encode()) for number in range(4))
LAUNCHED = Launch(
    schema=LAUNCH,
    device="cuda",
    devices=(DeviceIdentity(name="NVIDIA H200", architecture="sm90", memory=143771),) * 2,
    cacheon="0.1.0",
    python="3.12.3",
    torch="2.11.0+cu130",
    triton="3.6.0",
    cuda="13.0",
    driver="580.95",
    cuda_bindings="13.0.3",
)


def required_case(
    slot: str, variant: str, tokens: int, *, applicable: bool = True, world: int = 1
) -> RequiredCase:
    descriptor = CaseDescriptor(
        slot=slot,
        variant=variant,
        kind="single",
        call={"num_tokens": tokens, "dtype": "bfloat16", "world_size": world},
        scalars={"eps": (1e-6).hex()},
    )
    return RequiredCase(
        case=case_digest(descriptor),
        descriptor=descriptor,
        dims={"T": tokens},
        choices={},
        origin="catalogue",
        applicable=applicable,
        work=tokens * 1024,
    )


def required_variant(slot: str, name: str, *cases: RequiredCase) -> RequiredVariant:
    return RequiredVariant(
        slot=slot,
        variant=name,
        source="kernels/k.py",
        entry=name,
        prepare="",
        graph_safe="true",
        covered=True,
        missing=(),
        cases=cases,
    )


WANTED = Requirement(
    schema=REQUIREMENT,
    target="epilogue.v1",
    members=(
        Member(slot=SILU, contract=sha256(b"silu")),
        Member(slot=REDUCE, contract=sha256(b"reduce")),
    ),
    bundle=sha256(b"bundle"),
    variants=(
        required_variant(
            SILU,
            "small",
            required_case(SILU, "small", 1),
            required_case(SILU, "small", 64),
            required_case(SILU, "small", 4096, applicable=False),
        ),
        required_variant(SILU, "large", required_case(SILU, "large", 4096)),
        required_variant(REDUCE, "ring", required_case(REDUCE, "ring", 8, world=2)),
    ),
    context={"dtype": "bfloat16", "architecture": "sm90", "world_size": 2},
    launch=LAUNCHED,
    compilation=("triton",),
    graph_required=True,
    replays=8,
    soak=256,
    probes=("growth", "perturb"),
    isolation="process",
    observers=tuple(Observer(key=key, name=f"lab {key[:4]}") for key in KEYS[:3]),
    quorum=1,
    policy=Policy(arena="h200", version=3, digest=sha256(b"arena")),
    nonce=sha256(b"nonce"),
)
CASES = tuple(case for variant in WANTED.variants for case in variant.cases)
FIRST, DECLINED, GROUP = CASES[0], CASES[2], CASES[4]


def fresh(text: str) -> str:
    """The same text in another object, as one that was read is."""
    return "".join(list(text))


def digest_of(record: msgspec.Struct) -> str:
    return sha256(encode(record))


def a_rank(rank: int, replays: int = 8, soak: int = 256) -> RankObservation:
    return RankObservation(
        rank=rank,
        orders=tuple(
            OrderObservation(
                order=order,
                stages=STAGES,
                replays_completed=replays,
                replays_passed=replays,
                soak_completed=soak,
                soak_passed=soak,
            )
            for order in ORDERS
        ),
    )


def a_row(
    case: RequiredCase,
    requirement: Requirement = WANTED,
    run: str = RUNS[0],
    digest: str = "",
) -> Observation:
    """A row that shows all that the requirement asks of the case. `digest`: the
    requirement's, where it is known."""
    applies = case.applicable
    return Observation(
        schema=OBSERVATION,
        requirement=digest or digest_of(requirement),
        nonce=requirement.nonce,
        run=run,
        launch=digest_of(requirement.launch),
        bundle=requirement.bundle,
        case=case.case,
        descriptor=case.descriptor,
        applicable=applies,
        graph_required=requirement.graph_required,
        ranks=tuple(
            a_rank(rank, requirement.replays, requirement.soak)
            for rank in range(ranks_of(case) if applies else 0)
        ),
        failure="none" if applies else "not_applicable",
        stage="",
        complete=True,
        infrastructure="",
        findings=(),
        probes=requirement.probes,
        compilers=("triton",),
        nodes={"kernel": 3},
        max_abs=(2.0**-7).hex(),
        max_relative=(2.0**-8).hex(),
        backend="cuda",
        isolation=requirement.isolation,
    )


def rows_of(requirement: Requirement = WANTED, run: str = RUNS[0]) -> list[Observation]:
    digest = digest_of(requirement)
    return [
        a_row(case, requirement, run, digest)
        for variant in requirement.variants
        for case in variant.cases
    ]


def a_delivery(
    rows: Sequence[Observation],
    requirement: Requirement = WANTED,
    *,
    key: str = KEYS[0],
    run: str = RUNS[0],
    lost: Sequence[str] = (),
) -> Delivered:
    """A reopened delivery of `rows`; `lost`: digests that it lists and the store lacks."""
    named = {digest_of(row): row for row in rows}
    delivery = Delivery(
        schema=DELIVERY,
        requirement=digest_of(requirement),
        nonce=requirement.nonce,
        run=run,
        launch=digest_of(requirement.launch),
        observer=key,
        observations=tuple(sorted({*named, *lost})),
    )
    return Delivered(
        digest=sha256(key.encode() + encode(delivery)),
        delivery=delivery,
        rows=tuple(Row(digest, row) for digest, row in named.items()),
        missing=tuple(lost),
    )


def bound(
    *delivered: Delivered, requirement: Requirement = WANTED, lost: Sequence[Committed] = ()
) -> Bound:
    return bind(requirement, digest_of(requirement), delivered, lost)
