"""`launch`: the machine and the software that will run, described before anything does."""

import platform
from typing import Literal

import cacheon
from cacheon.engine.host.examination import Examination
from cacheon.engine.request import DeviceFacts
from cacheon.evidence.launch import LAUNCH, DeviceIdentity, Launch
from cacheon.records.errors import InfrastructureError, InputError
from cacheon.workflows.options import Options
from cacheon.workflows.verify import Start, settings_for

Asked = Literal["auto", "cuda", "cpu"]


def launch(device: Asked = "auto", *, start: Start = Examination) -> Launch:
    """What runs here. Raises DeviceMissing where CUDA is asked for and not there, InputError
    where devices differ, InfrastructureError where nothing could be started.

    The examination is started inline: one process looks at the device, so that one in
    exclusive mode can be described too."""
    settings = settings_for(Options(device=device, isolation="inline"))
    with start(settings, lambda _: None) as examiner:
        return described(examiner.facts())


def described(facts: DeviceFacts) -> Launch:
    """The launch identity of an examination that runs. Raises as `launch`."""
    return Launch(
        schema=LAUNCH,
        device=facts.device,
        devices=_alike(facts),
        cacheon=cacheon.__version__,
        python=platform.python_version(),
        torch=facts.torch,
        triton=facts.triton,
        cuda=facts.cuda,
        driver=facts.driver,
        cuda_bindings=facts.cuda_bindings,
    )


def _alike(facts: DeviceFacts) -> tuple[DeviceIdentity, ...]:
    """Every device; a CPU is one without an architecture or memory of its own."""
    if facts.device == "cpu":
        return (DeviceIdentity(name="cpu", architecture="", memory=0),)
    devices = tuple(
        DeviceIdentity(name=seen.name, architecture=seen.architecture, memory=seen.memory)
        for seen in facts.devices
    )
    if not devices:
        raise InfrastructureError("torch has a CUDA device and names none")
    for device in devices:
        if device != devices[0]:
            raise InputError(
                place="--device",
                expected="devices that are alike (CUDA_VISIBLE_DEVICES selects some)",
                got=f"{_words(devices[0])} beside {_words(device)}",
            )
    return devices


def _words(device: DeviceIdentity) -> str:
    return f"{device.name} ({device.architecture}, {device.memory} MiB)"
