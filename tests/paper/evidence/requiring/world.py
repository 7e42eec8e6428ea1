"""Bundles, an arena and a machine, as records: what a requirement is written from."""

from typing import Any

import msgspec

from cacheon.bundle import Bundle, Variant
from cacheon.contract.arenas import Arena, Published, shipped_arena
from cacheon.contract.domain import parse_domain
from cacheon.evidence.launch import LAUNCH, DeviceIdentity, Launch
from cacheon.evidence.requirement import Observer, Requirement
from cacheon.evidence.requiring import require
from cacheon.records.digest import sha256

SILU, RMS, DECODE, SDPA = (
    "activation.silu_and_mul",
    "norm.rmsnorm",
    "attention.decode",
    "attention.sdpa",
)
EPILOGUE = "collective.moe_epilogue.v1"
RESIDUAL, FINALIZE = "collective.ar_residual_rmsnorm", "collective.moe_finalize_ar_rmsnorm"
NONCE = sha256(b"a nonce")
ME = Observer(key=sha256(b"a key"), name="me")
GPU = DeviceIdentity(name="NVIDIA H200", architecture="sm90", memory=143771)
CPU = DeviceIdentity(name="cpu", architecture="", memory=0)


def a_variant(
    slot: str,
    capabilities: dict[str, Any] | None = None,
    *,
    name: str = "default",
    graph_safe: bool | None = True,
    row: int = 1,
) -> Variant:
    return Variant(
        row=row,
        slot=slot,
        name=name,
        source="kernels/k.py",
        entry="k",
        domain=parse_domain(capabilities or {}, "k.json"),
        graph_safe=graph_safe,
    )


def a_bundle(*variants: Variant, target: str = "") -> Bundle:
    return Bundle(
        path="/somewhere/b",
        bundle_id="b",
        digest=sha256(b"tree"),
        files=(),
        variants=variants,
        target=target,
    )


def a_launch(*devices: DeviceIdentity, device: Any = "cuda") -> Launch:
    return Launch(
        schema=LAUNCH,
        device=device,
        devices=devices or (GPU,),
        cacheon="0.1.0",
        python="3.12.3",
        torch="2.11.0",
        triton="3.6.0",
        cuda="13.0",
        driver="580.95",
        cuda_bindings="",
    )


def an_arena(name: str = "h200-decode", **changes: Any) -> Published:
    published = shipped_arena(name)
    arena: Arena = msgspec.structs.replace(published.arena, **changes)
    return msgspec.structs.replace(published, arena=arena)


def required(
    *variants: Variant,
    target: str = "",
    arena: Published | None = None,
    launch: Launch | None = None,
    nonce: str = NONCE,
) -> Requirement:
    published = arena or an_arena()
    return require(
        a_bundle(*variants),
        published,
        launch or a_launch(),
        target or variants[0].slot,
        nonce,
        (ME,),
    )
