"""CG304: replay differs from the contract though the eager call is right."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG304",
    title="replay differs from the contract though the eager call is right",
    group="staleness",
    confidence="medium",
    detected=("scan", "rehearsal", "cuda"),
    stages=("replay",),
    why=(
        "The same inputs give the right answer eagerly and a wrong one from the graph. "
        "Something was decided in Python while capturing: a branch on "
        "`is_current_stream_capturing()`, a grid or a split factor taken from a value, a "
        "work item that ran at capture and is not in the graph."
    ),
    remedy=(
        "Take the same path eagerly and under capture. Look for Python state read in the "
        "entry (counters, flags, first-call branches) and for launch parameters that are "
        "computed from tensor values; move the latter into the kernel."
    ),
    slot="attention.decode",
    bad="""\
import torch

_LONGEST: dict[torch.Size, int] = {}


def decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
    out: torch.Tensor,
) -> None:
    if not torch.cuda.is_current_stream_capturing():
        _LONGEST[k.shape] = int(seq_lens.max())
    longest = _LONGEST[k.shape]
    attend(q, k[:, :longest], v[:, :longest], seq_lens, sm_scale, out)


def attend(q, k, v, seq_lens, sm_scale, out):
    batch, q_heads, head_dim = q.shape
    cache, kv_heads = k.shape[1:3]
    grouped = q.float().view(batch, kv_heads, q_heads // kv_heads, head_dim)
    scores = torch.einsum("bhgd,bshd->bhgs", grouped, k.float()) * sm_scale
    hidden = torch.arange(cache, device=q.device) >= seq_lens[:, None]
    scores = scores.masked_fill(hidden[:, None, None], float("-inf"))
    answer = torch.einsum("bhgs,bshd->bhgd", scores.softmax(dim=-1), v.float())
    out.copy_(answer.reshape(out.shape))
""",
    good="""\
import torch


def decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
    out: torch.Tensor,
) -> None:
    attend(q, k, v, seq_lens, sm_scale, out)


def attend(q, k, v, seq_lens, sm_scale, out):
    batch, q_heads, head_dim = q.shape
    cache, kv_heads = k.shape[1:3]
    grouped = q.float().view(batch, kv_heads, q_heads // kv_heads, head_dim)
    scores = torch.einsum("bhgd,bshd->bhgs", grouped, k.float()) * sm_scale
    hidden = torch.arange(cache, device=q.device) >= seq_lens[:, None]
    scores = scores.masked_fill(hidden[:, None, None], float("-inf"))
    answer = torch.einsum("bhgs,bshd->bhgd", scores.softmax(dim=-1), v.float())
    out.copy_(answer.reshape(out.shape))
""",
)
