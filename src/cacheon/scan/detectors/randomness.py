"""CG703: random numbers that a replay repeats."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.events import Called, Event
from cacheon.scan.values import Made

_HOST = ("random.", "numpy.random.", "secrets.")
_OF_THE_MOMENT = frozenset({"time.time", "time.time_ns", "os.urandom", "uuid.uuid1", "uuid.uuid4"})
_SEEDS = frozenset(
    f"torch.{name}"
    for name in (
        "manual_seed seed initial_seed cuda.manual_seed cuda.manual_seed_all cuda.seed "
        "cuda.initial_seed get_rng_state set_rng_state cuda.get_rng_state cuda.set_rng_state "
        "Generator"
    ).split()
)


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Called) or not replayed(event):
        return
    generator = event.keywords.get("generator")
    if event.name in _SEEDS or event.name.startswith("torch.Generator."):
        yield Fault("CG703", f"`{event.name}` runs when Python does, and not at a replay")
    elif event.name.startswith(_HOST):
        yield Fault("CG703", f"`{event.name}` draws on the host: every replay has that number")
    elif event.name in _OF_THE_MOMENT and event.context.root.slot is not None:
        yield Fault("CG703", f"`{event.name}` is asked on the host: every replay has that answer")
    elif isinstance(generator, Made):
        yield Fault("CG703", "a capture does not know this generator: its numbers repeat")
