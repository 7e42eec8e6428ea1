"""CG102 and CG305: data goes between the host's memory and the device's."""

from collections.abc import Iterator

from cacheon.scan import results
from cacheon.scan.detectors.fault import Fault, method, replayed
from cacheon.scan.events import Called, Event, Indexed, Launched, Wrote
from cacheon.scan.values import Group, Host, Tensor, Value, is_live, tensors

_MAKERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})
_MOVING = frozenset("to cpu cuda type_as new_tensor".split())
_COPIES = frozenset({"copy_", "[…] =", ".data ="})


def concerns(name: str) -> bool:
    """Whether a call of this name may be a fault of this kind."""
    return name in _MAKERS or name.rpartition(".")[2] in _MOVING


def find(event: Event) -> Iterator[Fault]:
    if not replayed(event):
        return
    match event:
        case Called(receiver=Tensor() as receiver):
            yield from _moved(event, receiver)
        case Called(name=name, arguments=[Host() | Group() as source, *_]) if name in _MAKERS:
            made = results.made(name, event.arguments, event.keywords)
            empty = isinstance(source, Group) and source.items == ()
            if made.place == "device" and not tensors(source) and not empty:
                yield Fault("CG102", f"`{name}` copies Python data to the device")
        case Indexed(base=base, index=index) if is_live(base):
            yield from _indexed(index)
        case Wrote(target=target, source=Tensor(place="host") as source, how=how):
            if is_live(target) and how in _COPIES:
                yield _copied(source, "a tensor of the host is copied to the device")
        case Wrote(target=Tensor(place="host"), source=source, how="copy_"):
            if source is not None and is_live(source):
                yield Fault("CG102", "a tensor of the device is copied to the host")
        case Launched(arguments=arguments, kernel=kernel):
            for name, value in arguments.items():
                if isinstance(value, Tensor) and value.place == "host":
                    message = f"kernel `{kernel}` is given memory of the host as `{name}`"
                    yield _copied(value, message)


def _moved(event: Called, receiver: Tensor) -> Iterator[Fault]:
    attr = method(event)
    if attr == "new_tensor" and is_live(receiver):
        yield Fault("CG102", "`.new_tensor` copies Python data to the device")
    if attr not in _MOVING - {"new_tensor"}:
        return
    result = results.moved(receiver, attr, event.arguments, event.keywords)
    if is_live(receiver) and result.place == "host":
        yield Fault("CG102", f"`.{attr}` copies a tensor of the device to the host, and waits")
    if not is_live(receiver) and result.place == "device":
        yield _copied(receiver, f"`.{attr}` copies a tensor of the host to the device")


def _copied(source: Tensor, message: str) -> Fault:
    if source.pinned:
        return Fault("CG305", f"{message}; a graph reads pinned memory again at every replay")
    return Fault("CG102", message)


def _indexed(index: tuple[Value, ...]) -> Iterator[Fault]:
    for part in index:
        if isinstance(part, Group) and part.literal and not tensors(part):
            yield Fault("CG102", "an index that is a Python list is copied to the device")
        if isinstance(part, Tensor) and part.place == "host":
            yield Fault("CG102", "an index that is a tensor of the host is copied to the device")
