"""A small world of evidence as plain JSON: spelled here again, by nothing of the package.

What another implementation would write by hand, from the schema reference alone.
"""

import base64
import copy
import hashlib
import json
from typing import Any

from nacl.signing import SigningKey

Body = dict[str, Any]
SIGNERS = tuple(SigningKey(bytes([number]) * 32) for number in range(1, 5))
KEYS = tuple(bytes(signer.verify_key).hex() for signer in SIGNERS)
RUNS = tuple(f"{number:x}" * 64 for number in range(1, 5))
SLOT, OTHER_SLOT = "activation.silu_and_mul", "norm.rmsnorm"
REPLAYS, SOAK = 4, 16
DELIVERY_TYPE = "application/vnd.cacheon.delivery+json"
STAGES = ["load", "warmup", "eager", "capture", "replay", "perturb", "soak"]


def canonical(body: object) -> bytes:
    """Sorted keys, no white space, UTF-8."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(body: object) -> str:
    return sha256(canonical(body))


def changed(body: Body, **fields: Any) -> Body:
    """A copy with other fields; `a__b` reaches into `a`."""
    made = copy.deepcopy(body)
    for name, value in fields.items():
        *above, last = name.split("__")
        inner = made
        for part in above:
            inner = inner[part]
        inner[last] = value
    return made


def without(body: Body, *fields: str) -> Body:
    return {name: value for name, value in body.items() if name not in fields}


LAUNCH: Body = {
    "schema": "cacheon/launch/1",
    "device": "cuda",
    "devices": [{"name": "NVIDIA H200", "architecture": "sm90", "memory": 143771}],
    "cacheon": "0.1.0",
    "python": "3.12.3",
    "torch": "2.11.0",
    "triton": "3.6.0",
    "cuda": "13.0",
    "driver": "580.95",
    "cuda_bindings": "13.0.3",
}


def a_case(slot: str, variant: str, tokens: int, *, applicable: bool = True) -> Body:
    descriptor = {
        "slot": slot,
        "variant": variant,
        "kind": "single",
        "call": {"num_tokens": tokens, "dtype": "bfloat16"},
        "scalars": {},
    }
    return {
        "case": digest(descriptor),
        "descriptor": descriptor,
        "dims": {"T": tokens, "d": 64},
        "choices": {},
        "origin": "catalogue",
        "applicable": applicable,
        "work": tokens * 384,
    }


def a_variant(slot: str, name: str, *cases: Body) -> Body:
    return {
        "slot": slot,
        "variant": name,
        "source": "kernels/k.py",
        "entry": "k",
        "prepare": "",
        "graph_safe": "true",
        "covered": True,
        "missing": [],
        "cases": list(cases),
        "larger": {},
    }


SMALL, LARGE = a_case(SLOT, "default", 1), a_case(SLOT, "default", 64)
BEYOND = a_case(SLOT, "default", 4096, applicable=False)
REQUIREMENT: Body = {
    "schema": "cacheon/requirement/1",
    "target": SLOT,
    "members": [{"slot": SLOT, "contract": sha256(b"contract")}],
    "bundle": sha256(b"bundle"),
    "variants": [a_variant(SLOT, "default", SMALL, LARGE, BEYOND)],
    "context": {"dtype": "bfloat16", "architecture": "sm90", "world_size": 1},
    "launch": LAUNCH,
    "compilation": ["triton"],
    "graph_required": True,
    "replays": REPLAYS,
    "soak": SOAK,
    "probes": ["perturb"],
    "isolation": "process",
    "observers": [{"key": key, "name": f"lab{n}"} for n, key in enumerate(KEYS[:3])],
    "quorum": 1,
    "policy": {"arena": "h200-decode", "version": 2, "digest": sha256(b"arena")},
    "nonce": sha256(b"nonce"),
}


def cases_of(requirement: Body) -> list[Body]:
    return [case for variant in requirement["variants"] for case in variant["cases"]]


def an_order(order: str) -> Body:
    return {
        "order": order,
        "stages": STAGES,
        "replays_completed": REPLAYS,
        "replays_passed": REPLAYS,
        "soak_completed": SOAK,
        "soak_passed": SOAK,
    }


def a_row(case: Body, requirement: Body = REQUIREMENT, lab: int = 0, **fields: Any) -> Body:
    """An observation that shows all that is asked of the case."""
    applies = case["applicable"]
    orders = [an_order("descending"), an_order("ascending")]
    body = {
        "schema": "cacheon/observation/1",
        "requirement": digest(requirement),
        "nonce": requirement["nonce"],
        "run": RUNS[lab],
        "launch": digest(requirement["launch"]),
        "bundle": requirement["bundle"],
        "case": case["case"],
        "descriptor": case["descriptor"],
        "applicable": applies,
        "graph_required": True,
        "ranks": [{"rank": 0, "orders": orders}] if applies else [],
        "failure": "none" if applies else "not_applicable",
        "stage": "",
        "complete": True,
        "infrastructure": "",
        "findings": [],
        "probes": ["perturb"],
        "compilers": ["triton"],
        "nodes": {"kernel": 3},
        "max_abs": "0x1.0p-7",
        "max_relative": "0x1.0p-8",
        "backend": "cuda",
        "isolation": "process",
    }
    return changed(body, **fields)


def rows_of(requirement: Body = REQUIREMENT, lab: int = 0) -> list[Body]:
    return [a_row(case, requirement, lab) for case in cases_of(requirement)]


def a_delivery(
    digests: list[str], requirement: Body = REQUIREMENT, lab: int = 0, said: Body | None = None
) -> Body:
    """A delivery of observations; `said`: what it says otherwise, signed all the same."""
    body = {
        "schema": "cacheon/delivery/1",
        "requirement": digest(requirement),
        "nonce": requirement["nonce"],
        "run": RUNS[lab],
        "launch": digest(requirement["launch"]),
        "observer": KEYS[lab],
        "observations": sorted(digests),
    }
    return body | (said or {})


def pae(payload_type: str, payload: bytes) -> bytes:
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def key_id(lab: int) -> str:
    return sha256(f"ed25519:{KEYS[lab]}".encode())


def a_signature(payload: bytes, lab: int, payload_type: str = DELIVERY_TYPE) -> Body:
    signed = SIGNERS[lab].sign(pae(payload_type, payload)).signature
    return {"keyid": key_id(lab), "sig": base64.b64encode(signed).decode()}


def an_envelope(payload: bytes, *labs: int, payload_type: str = DELIVERY_TYPE) -> Body:
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": payload_type,
        "signatures": [a_signature(payload, lab, payload_type) for lab in labs],
    }
