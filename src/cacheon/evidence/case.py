"""What identifies a case in evidence: the call, spelled without a float."""

from typing import Literal

from cacheon.contract.case import Case
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256
from cacheon.records.strict import Record

Scalar = bool | int | float


# gc=False, here as in what rows hold: they come by the ten thousand, and no cycle runs
# through what was decoded from bytes.
class CaseDescriptor(Record, gc=False):
    """One call of one variant. `call` is the full call descriptor; `scalars` the values
    passed to the entry, spelled by `spelled`. `kind`: one call, or a sequence of calls
    that share state (no slot has one yet). No two cases of a requirement are equal."""

    slot: str
    variant: str
    kind: Literal["single", "sequence"]
    call: dict[str, str | int]
    scalars: dict[str, str]


def spelled(value: Scalar) -> str:
    """A scalar as exact text: `true`, `3`, or C's hexadecimal spelling of a float."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, float) else str(value)


def describe_case(case: Case) -> CaseDescriptor:
    """The identity of a planned case."""
    return CaseDescriptor(
        slot=case.slot,
        variant=case.variant,
        kind="single",
        call=case.descriptor,
        scalars={name: spelled(value) for name, value in case.scalars.items()},
    )


def case_digest(descriptor: CaseDescriptor) -> str:
    """The digest by which rows, requirement and grade name a case."""
    return sha256(encode(descriptor))
