"""The function mode: what Python asks of a tensor that no operator shows."""

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from cacheon.engine.worker.backends.recording.faults import NeedsCuda, Violation
from cacheon.engine.worker.backends.recording.recorder import Recorder
from cacheon.engine.worker.backends.recording.tape import tensors_of
from cacheon.engine.worker.blame import handed_over

_TENSOR = torch.Tensor
_READS: dict[object, str] = {
    _TENSOR.item: "`.item()`",
    _TENSOR.tolist: "`.tolist()`",
    _TENSOR.numpy: "`.numpy()`",
    _TENSOR.__array__: "`numpy.asarray`",
    _TENSOR.__int__: "`int()`",
    _TENSOR.__float__: "`float()`",
    _TENSOR.__complex__: "`complex()`",
    _TENSOR.__index__: "the use as an index",
    _TENSOR.__contains__: "`in`",
    _TENSOR.__repr__: "printing",
    _TENSOR.__format__: "formatting",
    _TENSOR.__dlpack__: "`__dlpack__`",
    _TENSOR.share_memory_: "`.share_memory_()`",
    torch.equal: "`torch.equal`",
    torch.allclose: "`torch.allclose`",
    torch.is_nonzero: "`torch.is_nonzero`",
    _TENSOR.equal: "`.equal`",
    _TENSOR.allclose: "`.allclose`",
    _TENSOR.is_nonzero: "`.is_nonzero()`",
}
_MAKERS = frozenset(
    {torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy, torch.frombuffer}
)
_FACTORIES = frozenset(
    {torch.zeros, torch.ones, torch.empty, torch.full, torch.arange, torch.linspace, torch.eye}
    | {torch.rand, torch.randn, torch.randint, torch.randperm, torch.scalar_tensor}
    | {torch.empty_strided, torch.logspace, torch.range, torch.normal, torch.tril_indices}
    | {torch.triu_indices, torch.hann_window, torch.hamming_window}
)
_LIKES = frozenset(
    {torch.empty_like, torch.zeros_like, torch.ones_like, torch.full_like, torch.rand_like}
    | {torch.randn_like, torch.randint_like, _TENSOR.new_empty, _TENSOR.new_zeros}
    | {_TENSOR.new_ones, _TENSOR.new_full, _TENSOR.new_empty_strided, _TENSOR.new_tensor}
)
"""They take the device of their first argument where none is named."""
_INDEXING = frozenset({_TENSOR.__getitem__, _TENSOR.__setitem__})
_SPLITS = frozenset({torch.tensor_split, _TENSOR.tensor_split})
_SHAPES: dict[object, str] = {
    torch.nonzero: "nonzero",
    _TENSOR.nonzero: "nonzero",
    torch.argwhere: "argwhere",
    torch.unique: "unique",
    _TENSOR.unique: "unique",
}


class Guard(TorchFunctionMode):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        recorder.guard = self
        self._hosts: list[torch.device] = []
        """Devices that the recorded call itself made by the name of the host."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        recorder = self.recorder
        outer = recorder.reading, recorder.trusted
        try:
            self._check(func, args, keywords)
            if func is _TENSOR.__deepcopy__ and self._any_live(args[:1], {}):
                # It copies a storage, which no operator shows: on a GPU a node like others.
                func = _copied
            result = handed_over(func, *args, **keywords)
        finally:
            recorder.reading, recorder.trusted = outer
        self._mark(func, args, keywords, result)
        return result

    def _check(
        self, func: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        recorder = self.recorder
        recorder.reading = f"`{getattr(func, '__name__', 'it')}`"
        if func in _READS:
            if self._any_live(args, keywords):
                self._refuse("CG101", f"{_READS[func]} reads a device value on the host")
        elif func is _TENSOR.__bool__:
            if self._any_live(args, keywords):
                self._refuse("CG103", "Python branches on a device value")
        elif func is _TENSOR.cpu:
            if self._any_live(args[:1], {}):
                self._refuse("CG102", "`.cpu()` copies a device tensor to the host, and waits")
        elif func in _INDEXING:
            self._check_index(args)
        elif func in _MAKERS:
            self._check_maker(func, args, keywords)
        elif func in _SHAPES:
            if self._any_live(args, keywords):
                self._refuse("CG103", f"`{_SHAPES[func]}` has a data-dependent shape")
        elif func in _SPLITS:
            if self._any_live(args[1:], keywords):
                self._refuse("CG103", "splitting at places that only the device knows")
        elif func is _TENSOR.to:
            self._check_move(args, keywords)
        elif func is _TENSOR.type:
            kind = args[1] if len(args) > 1 else keywords.get("dtype")
            if self._any_live(args[:1], {}) and _is_host_type(kind):
                self._refuse("CG102", f"`.type({_type_name(kind)})` copies to the host")
        elif getattr(func, "__name__", "") == "one_hot":
            classes = args[1] if len(args) > 1 else keywords.get("num_classes", -1)
            recorder.trusted = isinstance(classes, int) and classes > 0
            if not recorder.trusted and self._any_live(args, keywords):
                self._refuse("CG103", "`one_hot` without num_classes has a data-dependent shape")

    def _check_index(self, args: tuple[Any, ...]) -> None:
        self.recorder.reading = "indexing or slicing"
        if not self._any_live(args[:1], {}):
            return
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        for part in index:
            if isinstance(part, list | range) and not tensors_of(part):
                self._refuse("CG102", "indexing with a Python list copies it to the device")
            if type(part).__module__ == "numpy" and getattr(part, "ndim", 0) > 0:
                self._refuse("CG102", "indexing with a numpy array copies it to the device")

    def _check_maker(
        self, func: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        source = args[0] if args else keywords.get("data", keywords.get("obj"))
        device = keywords.get("device")
        if isinstance(source, list | tuple) and self._any_live((source,), {}):
            self._refuse("CG101", f"`torch.{func.__name__}` reads device values on the host")
        if isinstance(source, torch.Tensor) or device is None or self._is_host(device):
            return
        if func is not torch.from_numpy:
            self._refuse("CG102", f"`torch.{func.__name__}` copies Python data to the device")

    def _check_move(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        devices = [part for part in (*args[1:], keywords.get("device")) if part is not None]
        live = self._any_live(args[:1], {})
        if live and any(self._is_host(part) for part in devices):
            self._refuse("CG102", "`.to('cpu')` copies a device tensor to the host, and waits")
        if not live and any(isinstance(part, torch.device) for part in devices):
            self._refuse("CG102", "`.to(device)` copies host data to the device")

    def _mark(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        result: Any,
    ) -> None:
        memory = self.recorder.memory
        if func in _MAKERS and isinstance(result, torch.Tensor):
            if not tensors_of(args) and not tensors_of(keywords):
                memory.host(result, constant=True)
        elif func in _FACTORIES and isinstance(result, torch.Tensor):
            device = keywords.get("device")
            if keywords.get("out") is None and (device is None or self._is_host(device)):
                memory.host(result, constant=device is not None)
        elif func in _LIKES and isinstance(result, torch.Tensor):
            if self._is_host(keywords.get("device")):
                memory.host(result, constant=True)
        elif func is torch.device and args[:1] == ("cpu",):
            self._hosts.append(result)

    def _any_live(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
        tensors = tensors_of(args) + tensors_of(keywords)
        return any(self.recorder.memory.is_live(tensor) for tensor in tensors)

    def _refuse(self, rule: str, message: str) -> None:
        raise self.recorder.refuse(Violation(rule, message))

    def _is_host(self, device: object) -> bool:
        """Whether the source says `"cpu"` itself: `x.device` stands for the device."""
        if isinstance(device, str) and device.startswith("cuda"):
            raise NeedsCuda(f"it asks for the device {device!r}")
        named = isinstance(device, str) and device.startswith("cpu")
        return named or any(device is host for host in self._hosts)


def _type_name(kind: object) -> str:
    module = f"{getattr(kind, '__module__', '')}."
    return kind if isinstance(kind, str) else module + getattr(kind, "__name__", "")


def _copied(tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """What `copy.deepcopy` makes of a tensor, by an operator."""
    if id(tensor) not in memo:
        memo[id(tensor)] = tensor.detach().clone()
    copy: torch.Tensor = memo[id(tensor)]
    return copy


def _is_host_type(kind: object) -> bool:
    """Whether it is a tensor type of old, such as `torch.FloatTensor`: of host memory."""
    return _type_name(kind).startswith("torch.") and _type_name(kind).endswith("Tensor")
