"""CG103: the host decides on values of the device."""

from collections.abc import Iterator

from cacheon.scan import builtin_calls, torch_api
from cacheon.scan.detectors.fault import Fault, live, replayed
from cacheon.scan.events import Called, Event, Indexed, Tested
from cacheon.scan.values import Tensor, is_live


def find(event: Event) -> Iterator[Fault]:
    if not replayed(event):
        return
    match event:
        case Tested(value=value) if is_live(value):
            yield Fault("CG103", "Python branches on a tensor of the device")
        case Called():
            what = _sized(event)
            if what:
                yield Fault("CG103", what)
        case Indexed(base=base) if is_live(base):
            yield from _indexed(event)


def _sized(event: Called) -> str:
    short = event.name.rpartition(".")[2]
    if event.name == f"builtins.{short}":
        tests = short in builtin_calls.TESTS and live(event.arguments)
        return f"`{short}()` branches on a tensor of the device" if tests else ""
    of_tensors = event.name == f"Tensor.{short}" or torch_api.function_of_tensors(event.name)
    operands = event.operands
    if not of_tensors or not live(operands):
        return ""
    match short:
        case _ if short in torch_api.SHAPES:
            return f"`{short}` has a result whose shape depends on values"
        case "where" if len(operands) == 1:
            return "`where` of a condition alone has a result whose shape depends on values"
        case "repeat_interleave" if live(operands[1:]) and "output_size" not in event.keywords:
            return "`repeat_interleave` by a tensor has a result whose shape depends on values"
        case "one_hot" if len(operands) == 1:
            return "`one_hot` without num_classes has a shape that depends on values"
        case "tensor_split" if live(operands[1:]):
            return "`tensor_split` at places that only the device knows"
    return ""


def _indexed(event: Indexed) -> Iterator[Fault]:
    if live(event.sliced):
        yield Fault("CG103", "a slice is bounded by a tensor of the device")
    masked = any(isinstance(part, Tensor) and part.mask for part in event.index)
    # A number of the host through a mask becomes masked_fill, which needs no size.
    if masked and (event.stored is None or is_live(event.stored)):
        yield Fault("CG103", "an index that is a boolean mask: the size depends on values")
