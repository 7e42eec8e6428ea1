"""One-line habits of torch code, and what becomes of each under a real capture.

`CLEAN` ones are legal under CUDA graph capture and follow their inputs at replay; the
others break the rule that stands beside them. What stands here was seen on a GPU:
`test_idioms.py` holds the rehearsal against it, and a real capture too where there is one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

T = torch.Tensor
CLEAN = ""


class Idiom(NamedTuple):
    """`body` gets x (4, 8) float32, i (4,) int64 in 0..3, s () float32 in 1..2 and
    out (4, 8) float32, and writes to `out`."""

    name: str
    rule: str
    body: Callable[[T, T, T, T], Any]


def _set_scalar_cell(x: T, i: T, s: T, out: T) -> None:
    out.copy_(x)
    out[0, 0] = 3.0


def _set_scalar_row(x: T, i: T, s: T, out: T) -> None:
    out.copy_(x)
    out[0] = 3.0


def _set_mask_number(x: T, i: T, s: T, out: T) -> None:
    out.copy_(x)
    out[x > 0] = 0.5


def _set_mask_device_scalar(x: T, i: T, s: T, out: T) -> None:
    out.copy_(x)
    out[x > 0] = s


def _set_mask_host_scalar(x: T, i: T, s: T, out: T) -> None:
    out.copy_(x)
    out[x > 0] = torch.tensor(0.5)


def _set_cell_host_scalar(x: T, i: T, s: T, out: T) -> None:
    out.copy_(x)
    out[0, 0] = torch.tensor(0.5)


def _set_by_index(x: T, i: T, s: T, out: T) -> None:
    out.copy_(x)
    out[i] = 0.25


def _set_by_list(x: T, i: T, s: T, out: T) -> None:
    out.copy_(x)
    out[[0, 2]] = 0.25


def _foreach(x: T, i: T, s: T, out: T) -> None:
    a, b = torch._foreach_mul([x, x], 2.0)
    torch._foreach_add_([a, b], 1.0)
    out.copy_(a + b)


def _branch(x: T, i: T, s: T, out: T) -> None:
    if x.sum() > 0:
        out.copy_(x)
    else:
        out.copy_(-x)


def _slice(x: T, i: T, s: T, out: T) -> None:
    out.zero_()
    out[: i[0]] = 1.0


def _random(x: T, i: T, s: T, out: T) -> None:
    out.copy_(torch.rand_like(x) * 0 + x)


def _column_views(x: T, i: T, s: T, out: T) -> None:
    left, right = x.chunk(2, dim=-1)
    out[:, 4:].copy_(left)
    out[:, :4].copy_(right)


def _in_place_chain(x: T, i: T, s: T, out: T) -> None:
    work = torch.empty_like(x)
    torch.mul(x, 2.0, out=work)
    work.t()[1:3].add_(1.0)
    work.as_strided((2, 2), (8, 1)).mul_(3.0)
    out.copy_(work)


def _svd(x: T, i: T, s: T, out: T) -> None:
    out.copy_(torch.linalg.svd(x, full_matrices=False)[2])


def _cells(out: T, value: T) -> None:
    """Spread whatever came out over the output, so that it counts."""
    out.copy_(value.flatten().float()[:1].expand(4, 8))


IDIOMS = [
    Idiom("item", "CG101", lambda x, i, s, out: out.copy_(x * s.item())),
    Idiom("tolist", "CG101", lambda x, i, s, out: out.copy_(x * s.tolist())),
    Idiom("float", "CG101", lambda x, i, s, out: out.copy_(x * float(s))),
    Idiom("int", "CG101", lambda x, i, s, out: out.copy_(x * int(i[0]))),
    Idiom("repr", "CG101", lambda x, i, s, out: (repr(x), out.copy_(x))),
    Idiom("format", "CG101", lambda x, i, s, out: (f"{s:.3f}", out.copy_(x))),
    Idiom("contains", "CG101", lambda x, i, s, out: (3 in i, out.copy_(x))),
    Idiom("allclose", "CG101", lambda x, i, s, out: (torch.allclose(x, x), out.copy_(x))),
    Idiom("equal", "CG101", lambda x, i, s, out: (torch.equal(x, x + 1), out.copy_(x))),
    Idiom("full of a tensor", "CG101", lambda x, i, s, out: out.copy_(x.new_full((4, 8), s))),
    Idiom("index by a scalar", "CG103", lambda x, i, s, out: out.copy_(x[i[0]])),
    Idiom("linalg inverse", "CG101", lambda x, i, s, out: _cells(out, torch.linalg.inv(x[:, :4]))),
    Idiom("svd", "CG102", _svd),
    Idiom("one_hot of unknown width", "CG103", lambda x, i, s, out: _cells(out, F.one_hot(i))),
    Idiom("bincount", "CG103", lambda x, i, s, out: _cells(out, torch.bincount(i, minlength=4))),
    Idiom("multinomial", CLEAN, lambda x, i, s, out: _cells(out, x.abs().multinomial(3) * 0)),
    Idiom("cpu", "CG102", lambda x, i, s, out: out.copy_(x.cpu().to(x.device))),
    Idiom("to the host by name", "CG102", lambda x, i, s, out: out.copy_(x.to("cpu"))),
    Idiom(
        "constant on the device",
        "CG102",
        lambda x, i, s, out: out.copy_(x * torch.tensor([2.0] * 8, device=x.device)),
    ),
    Idiom(
        "scalar constant on the device",
        "CG102",
        lambda x, i, s, out: out.copy_(x * torch.tensor(2.0, device=x.device)),
    ),
    Idiom("new_tensor", "CG102", lambda x, i, s, out: out.copy_(x * x.new_tensor([2.0] * 8))),
    Idiom(
        "constant moved",
        "CG102",
        lambda x, i, s, out: out.copy_(x * torch.tensor([2.0] * 8).to(x.device)),
    ),
    Idiom("constant copied", "CG102", lambda x, i, s, out: out.copy_(torch.tensor([2.0] * 8))),
    Idiom("arange moved", "CG102", lambda x, i, s, out: out.copy_(torch.arange(8).to(x.device))),
    Idiom("index by a list", "CG102", lambda x, i, s, out: out.copy_(x[[3, 2, 1, 0]])),
    Idiom("set by a list", "CG102", _set_by_list),
    Idiom(
        "index by a host tensor",
        "CG102",
        lambda x, i, s, out: out.copy_(x[torch.tensor([3, 2, 1, 0])]),
    ),
    Idiom("branch", "CG103", _branch),
    Idiom("slice by a tensor", "CG103", _slice),
    Idiom("nonzero", "CG103", lambda x, i, s, out: _cells(out, (x > 0).nonzero())),
    Idiom("where of one", "CG103", lambda x, i, s, out: _cells(out, torch.where(x > 0)[0])),
    Idiom("masked_select", "CG103", lambda x, i, s, out: _cells(out, x.masked_select(x > 0))),
    Idiom("mask", "CG103", lambda x, i, s, out: _cells(out, x[x > 0])),
    Idiom("unique", "CG103", lambda x, i, s, out: _cells(out, i.unique())),
    Idiom(
        "repeat by tensor", "CG103", lambda x, i, s, out: _cells(out, x.repeat_interleave(i, dim=0))
    ),
    Idiom("set mask to a device scalar", "CG103", _set_mask_device_scalar),
    Idiom("set mask to a number", CLEAN, _set_mask_number),
    Idiom("set mask to a host scalar", CLEAN, _set_mask_host_scalar),
    Idiom("set a cell to a number", "CG102", _set_scalar_cell),
    Idiom("set a cell to a host scalar", "CG102", _set_cell_host_scalar),
    Idiom("set a row to a number", CLEAN, _set_scalar_row),
    Idiom("set by an index", "CG102", _set_by_index),
    Idiom(
        "repeat with output_size",
        CLEAN,
        lambda x, i, s, out: _cells(out, x.repeat_interleave(i * 0 + 2, dim=0, output_size=8)),
    ),
    Idiom("one_hot", CLEAN, lambda x, i, s, out: _cells(out, F.one_hot(i, 4))),
    Idiom("host scalar", CLEAN, lambda x, i, s, out: out.copy_(x * torch.tensor(2.0))),
    Idiom(
        "scalar_tensor",
        CLEAN,
        lambda x, i, s, out: out.copy_(x * torch.scalar_tensor(2.0, device=x.device)),
    ),
    Idiom(
        "host arithmetic",
        CLEAN,
        lambda x, i, s, out: out.copy_(x * torch.tensor([2, 3]).sum().item()),
    ),
    Idiom("factories", CLEAN, lambda x, i, s, out: out.copy_(x + torch.arange(8, device=x.device))),
    Idiom(
        "masked_fill by a device scalar",
        "CG101",
        lambda x, i, s, out: out.copy_(x.masked_fill(x > 0, s)),
    ),
    Idiom(
        "masked_fill by a host scalar",
        CLEAN,
        lambda x, i, s, out: out.copy_(x.masked_fill(x > 0, torch.tensor(1.0))),
    ),
    Idiom("where by scalars", CLEAN, lambda x, i, s, out: out.copy_(torch.where(x > 0, x, s))),
    Idiom("fill_ by a device scalar", CLEAN, lambda x, i, s, out: out.fill_(s)),
    Idiom("fill_ by a host scalar", CLEAN, lambda x, i, s, out: out.fill_(torch.tensor(2.0))),
    Idiom("copy_ from a host scalar", "CG102", lambda x, i, s, out: out.copy_(torch.tensor(2.0))),
    Idiom("index_select", CLEAN, lambda x, i, s, out: out.copy_(x.index_select(0, i))),
    Idiom(
        "index_fill_ by a device scalar",
        "CG101",
        lambda x, i, s, out: out.copy_(x).index_fill_(0, i, s),
    ),
    Idiom("histc", CLEAN, lambda x, i, s, out: _cells(out, torch.histc(x, 8, -1, 1))),
    Idiom("topk", CLEAN, lambda x, i, s, out: _cells(out, x.topk(3)[0])),
    Idiom("sort", CLEAN, lambda x, i, s, out: out.copy_(x.sort(stable=True)[0])),
    Idiom(
        "searchsorted", CLEAN, lambda x, i, s, out: _cells(out, torch.searchsorted(x.sort()[0], x))
    ),
    Idiom("masked_scatter", CLEAN, lambda x, i, s, out: out.copy_(x.masked_scatter(x > 0, x))),
    Idiom("isin", CLEAN, lambda x, i, s, out: _cells(out, torch.isin(i, i))),
    Idiom("cumsum", CLEAN, lambda x, i, s, out: out.copy_(x.cumsum(-1))),
    Idiom("median", CLEAN, lambda x, i, s, out: _cells(out, x.median())),
    Idiom(
        "nonzero_static", CLEAN, lambda x, i, s, out: _cells(out, torch.nonzero_static(i, size=4))
    ),
    Idiom(
        "randperm",
        CLEAN,
        lambda x, i, s, out: _cells(out, x[torch.randperm(4, device=x.device)] * 0),
    ),
    Idiom("foreach", CLEAN, _foreach),
    Idiom("random numbers", CLEAN, _random),
    Idiom("column views", CLEAN, _column_views),
    Idiom("in place on views", CLEAN, _in_place_chain),
    Idiom("index_add_", CLEAN, lambda x, i, s, out: out.zero_().index_add_(0, i, x)),
    Idiom(
        "scatter_reduce_",
        CLEAN,
        lambda x, i, s, out: out.zero_().scatter_reduce_(0, i[:, None].expand(4, 8), x, "amax"),
    ),
    Idiom(
        "index_put_ accumulate",
        CLEAN,
        lambda x, i, s, out: out.zero_().index_put_((i,), x, accumulate=True),
    ),
    Idiom("to a dtype", CLEAN, lambda x, i, s, out: out.copy_(x.to(torch.bfloat16))),
    Idiom("to its own device", CLEAN, lambda x, i, s, out: out.copy_(x.to(x.device))),
]
