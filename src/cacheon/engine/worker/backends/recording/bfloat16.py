"""bfloat16 in Triton's interpreter, which keeps such values as the integers of their bits and
would also add, multiply and compare those: here they are computed with as numbers.

As on a GPU: products of a `tl.dot` are summed in float32, all else is rounded, to nearest even,
after each operation.
"""

import importlib
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Needs = Callable[[str], Callable[..., NoReturn]]


def widened(bits: Array) -> Array:
    """uint16, bits of bfloat16 → the same values in float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def narrowed(values: Array) -> Array:
    """float32 → uint16, the bits of the nearest bfloat16, even where two are as near."""
    bits = np.ascontiguousarray(values, np.float32).reshape(-1).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    nearest = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    # A NaN keeps its sign, and rounds to no infinity.
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    chosen = np.where(np.isnan(bits.view(np.float32)), quiet, nearest)
    return chosen.astype(np.uint16).reshape(np.shape(values))


def with_bfloat16(needs: Needs) -> list[tuple[Any, str, Any]]:
    """What to put in the interpreter's place: (owner, name, value). Triton is installed."""
    interpreter: Any = importlib.import_module("triton.runtime.interpreter")
    language: Any = importlib.import_module("triton.language")
    builder, handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
    bfloat16, float32 = language.bfloat16, language.float32

    def kept(value: Any) -> bool:
        """Whether a handle holds bits; what a comparison says of such is held as booleans."""
        return bool(value.dtype.scalar == bfloat16 and value.data.dtype == np.uint16)

    def wide(value: Any) -> Any:
        return handle(widened(value.data), float32) if kept(value) else value

    def rounding(operation: Callable[..., Any]) -> Callable[..., Any]:
        """`operation` of the builder on handles and a function of numpy's, which is the last."""

        def rounded(self: Any, *operands: Any) -> Any:
            *handles, function = operands
            # What chooses between values moves bits.
            if function is np.where or not any(map(kept, handles)):
                return operation(self, *operands)
            answer = operation(self, *map(wide, handles), function).data
            bits = answer if answer.dtype == np.bool_ else narrowed(answer)
            return handle(bits, bfloat16)

        return rounded

    def fma(self: Any, x: Any, y: Any, z: Any) -> Any:
        if not kept(z):
            return fma_of_floats(self, x, y, z)
        answer = fma_of_floats(self, *map(wide, (x, y, z)))
        return handle(narrowed(answer.data), bfloat16)

    def cast(self: Any, value: Any, kind: Any) -> Any:
        source, target = value.dtype.scalar, kind.scalar
        if source == bfloat16 and not kept(value):
            value = handle(value.data.astype(np.int32), language.int32)
        if kept(value) and target != bfloat16:
            value = wide(value)
        elif value.dtype.scalar != bfloat16 and target == bfloat16:
            return handle(narrowed(value.data.astype(np.float32)), bfloat16)
        return value if value.dtype.scalar == target else cast_of_others(self, value, kind)

    def fp_to_fp(self: Any, value: Any, kind: Any, mode: Any) -> Any:
        nearest = mode is None or mode == interpreter._ir.ROUNDING_MODE.RTNE
        if value.dtype.scalar == float32 and kind.scalar == bfloat16 and nearest:
            return cast(self, value, kind)
        return fp_to_fp_of_others(self, value, kind, mode)

    def dot(self: Any, a: Any, b: Any, *rest: Any, **named: Any) -> Any:
        return dot_of_floats(self, wide(a), wide(b), *rest, **named)

    def atomic(self: Any, how: Any, where: Any, value: Any, *rest: Any) -> Any:
        if kept(value):
            needs("an atomic operation on bfloat16 in a Triton kernel")()
        return atomic_of_others(self, how, where, value, *rest)

    def summed(self: Any, tensor: Any) -> Any:
        if not kept(tensor.handle):
            return sum_of_others(self, tensor)
        values = widened(tensor.handle.data)
        answer = np.sum(values, axis=self.axis, keepdims=self.keep_dims)
        return self.to_tensor(narrowed(answer), tensor.dtype)

    def running(name: str, of_others: Callable[..., Any]) -> Callable[..., Any]:
        def scanned(self: Any, tensor: Any) -> Any:
            if not kept(tensor.handle):
                return of_others(self, tensor)
            answer = getattr(np, name)(widened(tensor.handle.data), axis=self.axis)
            return [self.to_tensor(narrowed(answer), dtype=tensor.dtype)]

        return scanned

    fma_of_floats, cast_of_others = builder.create_fma, builder.cast_impl
    fp_to_fp_of_others, dot_of_floats = builder.create_fp_to_fp, builder.create_dot
    atomic_of_others, sum_of_others = builder.create_atomic_rmw, interpreter.ReduceOps.sum
    scans = interpreter.ScanOps
    return [
        *((builder, n, rounding(getattr(builder, n))) for n in _ON_NUMBERS),
        (builder, "create_fma", fma),
        (builder, "cast_impl", cast),
        (builder, "create_fp_to_fp", fp_to_fp),
        (builder, "create_dot", dot),
        (builder, "create_atomic_rmw", atomic),
        (interpreter.ReduceOps, "sum", summed),
        *((scans, name, running(name, getattr(scans, name))) for name in ("cumsum", "cumprod")),
    ]


_ON_NUMBERS = ("unary_op", "binary_op", "ternary_op")
