"""The machine and the software that will run: what a requirement binds and `observe` checks."""

from typing import Final, Literal

from cacheon.records.strict import Record

LAUNCH: Final = "cacheon/launch/1"


class DeviceIdentity(Record):
    """One device, by what makes it alike others: no serial number, no path. `memory` in
    MiB, rounded down."""

    name: str
    architecture: str
    memory: int


class Launch(Record):
    """A launch identity. Versions are exact; one that is not installed is empty.
    `compilation`: kinds that the arena approves (triton, inductor, nvcc of declared
    sources). `devices` are alike; their number is the world size that can run."""

    schema: Literal["cacheon/launch/1"]
    device: Literal["cuda", "cpu"]
    devices: tuple[DeviceIdentity, ...]
    cacheon: str
    python: str
    torch: str
    triton: str
    cuda: str
    driver: str
    cuda_bindings: str
