"""CG204: write outside the output."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG204",
    title="write outside the output",
    group="writes",
    confidence="medium",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "Guard bytes around an output, or the gaps between its rows, were overwritten. In "
        "serving another tensor lies there, and it is corrupted silently."
    ),
    remedy=(
        "Mask every store by the true bounds, and address rows by `out.stride(0)` rather "
        "than by the row's width: an output may be pitched. Run the case under `compute- "
        "sanitizer --tool memcheck` to find the store."
    ),
    slot="attention.msa_prefill_block_score",
    bad="""\
import torch
from torch.nn.functional import pad


def msa_prefill_block_score(
    q: torch.Tensor,
    index_k: torch.Tensor,
    prefix_len: int,
    scale: float,
    block_size: int,
    out: torch.Tensor,
) -> None:
    tokens, keys = q.shape[0], index_k.shape[0]
    flat = (tokens - 1) * out.stride(0) + out.shape[1]
    out.as_strided((flat,), (1,)).fill_(float("-inf"))
    scores = (q.float() @ index_k.float().T) * scale
    last = prefix_len + torch.arange(tokens, device=q.device)
    hidden = torch.arange(keys, device=q.device) > last[:, None]
    scores = scores.masked_fill(hidden, float("-inf"))
    scores = pad(scores, (0, -keys % block_size), value=float("-inf"))
    out.copy_(scores.view(tokens, -1, block_size).amax(dim=-1))
""",
    good="""\
import torch
from torch.nn.functional import pad


def msa_prefill_block_score(
    q: torch.Tensor,
    index_k: torch.Tensor,
    prefix_len: int,
    scale: float,
    block_size: int,
    out: torch.Tensor,
) -> None:
    tokens, keys = q.shape[0], index_k.shape[0]
    out.fill_(float("-inf"))
    scores = (q.float() @ index_k.float().T) * scale
    last = prefix_len + torch.arange(tokens, device=q.device)
    hidden = torch.arange(keys, device=q.device) > last[:, None]
    scores = scores.masked_fill(hidden, float("-inf"))
    scores = pad(scores, (0, -keys % block_size), value=float("-inf"))
    out.copy_(scores.view(tokens, -1, block_size).amax(dim=-1))
""",
)
