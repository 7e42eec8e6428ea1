"""CG203: only a part of an output is written."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Branched, Effect, Ended, Event
from cacheon.scan.shares import LESS, STEP
from cacheon.scan.values import Names


def find(event: Event) -> Iterator[Fault]:
    outputs = event.context.root.outputs
    match event:
        case Branched(topic="capture", then=then, otherwise=otherwise):
            for name in sorted(outputs):
                parts = _parts(then, name), _parts(otherwise, name)
                if all(parts) and ("" in parts[0]) != ("" in parts[1]):
                    yield Fault("CG203", f"whether all of `{name}` is written hangs on a capture")
        case Ended(effects=effects):
            for name in sorted(outputs):
                written = _parts(effects, name)
                if ("pass", name) in effects:
                    continue
                if _is_partial(written):
                    yield Fault("CG203", f"only every other slice of `{name}` is written")
                elif len(written) == 1 and next(iter(written)).startswith((LESS, STEP)):
                    yield Fault("CG203", f"only a part of `{name}` is written")


def _parts(effects: frozenset[Effect], name: str) -> Names:
    return frozenset(e[2] for e in effects if e[0] == "write" and e[1] == name)


def _is_partial(parts: Names) -> bool:
    """Whether the slices, all with one step, are fewer than the step."""
    steps = {part.rpartition(":")[2] for part in parts if "::" in part}
    whole = not parts or any("::" not in part for part in parts)
    return not whole and len(steps) == 1 and len(parts) < int(next(iter(steps)) or 1)
