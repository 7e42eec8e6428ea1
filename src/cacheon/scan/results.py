"""What torch's functions and methods give, by name: place, memory, contents."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from cacheon.scan import torch_api
from cacheon.scan.values import Group, Host, Place, Tensor, Unknown, Value, place_among, tensors

SPREAD = "**"
"""The name under which keywords stand that a call takes from a mapping."""


def place_of(values: Sequence[Value], keywords: Mapping[str, Value], otherwise: Place) -> Place:
    """Where a call puts its result: what `device=`, or a device among the positional
    arguments, says; "" where one of these may be a device or something else."""
    place = otherwise
    for value in (*([keywords["device"]] if "device" in keywords else []), *values):
        match value:
            case Host(constant=str(name)):
                return "host" if name.startswith("cpu") else "device"
            case Host(topics=topics) if "device" in topics:
                return "device"
            case Tensor():
                return value.place
            case Host(known=False, topics=topics) if "dtype" not in topics:
                place = ""
            case Unknown():
                place = ""
    return place


def created(keywords: Mapping[str, Value], otherwise: Place) -> Tensor:
    """A new tensor that no contents went into. A device that is not known is taken for
    one of a GPU: code that names a device means that."""
    if SPREAD in keywords and "device" not in keywords:
        otherwise = ""
    place = place_of((), keywords, otherwise)
    pinned = is_true(keywords.get("pin_memory"))
    return Tensor(place=place if place or not otherwise else "device", pinned=pinned, fresh=True)


def made(name: str, values: Sequence[Value], keywords: Mapping[str, Value]) -> Tensor:
    """A tensor from Python objects, or another tensor."""
    holds = frozenset[str]().union(*(value.holds for value in values))
    source = values[0] if values else None
    otherwise: Place = source.place if isinstance(source, Tensor) else "host"
    mark = created(keywords, otherwise)
    shares = source.shares if isinstance(source, Tensor) and name != "tensor" else frozenset()
    return replace(mark, holds=holds, shares=shares)


def computed(short: str, operands: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """The result of a function of tensors; `operands` in order, the receiver first."""
    found = [t for value in (*operands, *keywords.values()) for t in tensors(value)]
    holds = frozenset[str]().union(*(t.holds for t in found))
    first = operands[0] if operands else None
    result = Tensor(
        place=place_among(found), mask=short in torch_api.MASKS, holds=holds, fresh=True
    )
    if short in _COPYING:
        chosen = [v for v in operands[short == "where" :] if isinstance(v, Tensor)]
        copies = frozenset[str]().union(*(v.shares | v.copies for v in chosen))
        result = replace(result, copies=copies)
    if short == "clone":
        result = replace(result, part="clone")
    if short in torch_api.VIEWS and isinstance(first, Tensor):
        part = first.part or ("some" if short in _NARROWING else "")
        result = replace(first, holds=holds, fresh=False, part=part)
    if short in ("nonzero", "where") and _splits(short, operands, keywords):
        return Group(every=result)
    if short in torch_api.SEVERAL:
        return Group(every=result)
    by_dim = len(operands) > 1 and isinstance(operands[1], Host)
    if short in torch_api.BY_DIM and (by_dim or "dim" in keywords):
        return Group(items=(result, replace(result, mask=False)))
    if is_true(keywords.get("return_inverse")) or is_true(keywords.get("return_counts")):
        return Group(every=result)
    return result


_COPYING = frozenset("clone contiguous where float half bfloat16".split())
"""Their result has the contents of one of their arguments."""
_NARROWING = frozenset("narrow select chunk split unbind as_strided tensor_split".split())


def _splits(short: str, operands: Sequence[Value], keywords: Mapping[str, Value]) -> bool:
    if short == "where":
        return len(operands) == 1
    return is_true(keywords.get("as_tuple"))


def is_true(value: Value | None) -> bool:
    return isinstance(value, Host) and value.constant is True


def moved(
    receiver: Tensor, attr: str, values: Sequence[Value], keywords: Mapping[str, Value]
) -> Tensor:
    """`.to(…)`, `.cpu()`, `.cuda()`, `.pin_memory()`."""
    match attr:
        case "cpu":
            place: Place = "host"
        case "cuda":
            place = "device"
        case "pin_memory":
            return replace(receiver, place="host", pinned=True, fresh=True)
        case _:
            place = place_of(values, keywords, receiver.place)
    return replace(
        receiver,
        place=place,
        shares=frozenset(),
        copies=receiver.shares | receiver.copies,
        held="",
        part="",
        fresh=True,
        pinned=False,
    )
