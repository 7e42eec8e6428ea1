"""CG204: memory around an output is reached."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault, method
from cacheon.scan.events import Called, Event

_FLAT = frozenset({"as_strided", "as_strided_", "untyped_storage", "storage", "set_"})


def find(event: Event) -> Iterator[Fault]:
    root = event.context.root
    if not isinstance(event, Called) or root.slot is None or not event.operands:
        return
    if (method(event) or event.name.removeprefix("torch.")) not in _FLAT:
        return
    for output in root.slot.outputs:
        if output.pitch is not None and output.name in event.operands[0].shares:
            message = f"`{event.name}` reaches the gaps between the rows of `{output.name}`"
            yield Fault("CG204", message)
