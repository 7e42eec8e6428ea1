"""CG101: a value of the device becomes a Python object."""

from collections.abc import Iterator

from cacheon.scan import builtin_calls, torch_api
from cacheon.scan.detectors.fault import Fault, live, method, replayed
from cacheon.scan.events import Called, Event, Indexed, Shown
from cacheon.scan.values import NOTHING, Group, Value, is_live, tensors

_NUMPY = frozenset({"numpy.array", "numpy.asarray", "numpy.copy"})
_LOGGED = frozenset(
    f"logging.{owner}{level}"
    for owner in ("", "Logger.")
    for level in ("info", "warning", "error", "critical", "exception")
)
_QUESTIONS = {f"torch.{name}" for name in ("equal", "allclose", "is_nonzero")}
_CHECKED = {f"torch.linalg.{name}" for name in torch_api.CHECKED} | {"torch.inverse"}
_LISTS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.Tensor"})


def find(event: Event) -> Iterator[Fault]:
    match event:
        case Shown(value=value) if replayed(event) and is_live(value):
            yield Fault("CG101", "a tensor is formatted, which reads its values on the host")
        case Indexed(base=Group() as base, index=index) if replayed(event):
            if live(index) and not base.keys and (base.literal or base.items):
                yield Fault("CG101", "an index of a list reads values of the device on the host")
        case Called() if replayed(event):
            what = _read(event)
            if what:
                yield Fault("CG101", f"{what} reads values of the device on the host")


def _read(event: Called) -> str:
    name, short = event.name, event.name.removeprefix("builtins.")
    if method(event) in torch_api.READS:
        return torch_api.READS[method(event)] if live(event.operands[:1]) else ""
    filling = method(event) or torch_api.function_of_tensors(name)
    if filling in torch_api.FILLS and is_live(_filled(event, torch_api.FILLS[filling])):
        return f"`{filling}` by a tensor"
    if name in _CHECKED and live(event.operands[:1]):
        return f"`{name}`, which asks whether all went well,"
    if name in _QUESTIONS and live(event.operands):
        return f"`{name}`"
    if name.startswith("math.") and live(event.arguments):
        return f"`{name}`"
    if name in _LOGGED and live(event.arguments):
        return f"`{name}`"
    if name in _NUMPY and live(event.arguments):
        return f"`{name}`"
    if name in _LISTS and any(_of_tensors(value) for value in event.arguments[:1]):
        return f"`{name}` of a list of tensors"
    if name != short and short in builtin_calls.READS and live(event.arguments):
        return f"`{short}()`"
    return ""


def _filled(event: Called, place: int) -> Value:
    """With what a call fills."""
    for key in ("value", "fill_value"):
        if key in event.keywords:
            return event.keywords[key]
    given = (*((event.receiver,) if event.receiver else ()), *event.arguments)
    return given[place] if len(given) > place else NOTHING


def _of_tensors(value: object) -> bool:
    return isinstance(value, Group) and any(map(is_live, tensors(value)))
