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
    """q (T, D), index_k (S, D) → out (T, ⌈S / block_size⌉) float32.

    Key n is visible to row m iff n <= prefix_len + m; a block without a visible key is
    -inf. Rows of out lie further apart than they are long: write through out, never
    through a flat view of it.
    """
    tokens, keys = q.shape[0], index_k.shape[0]
    scores = (q.float() @ index_k.float().T) * scale
    last = prefix_len + torch.arange(tokens, device=q.device)
    hidden = torch.arange(keys, device=q.device) > last[:, None]
    scores = scores.masked_fill(hidden, float("-inf"))
    # The last block may be ragged: fill it up with keys that nobody sees.
    scores = pad(scores, (0, -keys % block_size), value=float("-inf"))
    out.copy_(scores.view(tokens, -1, block_size).amax(dim=-1))
