import torch


def msa_block_score(
    q: torch.Tensor,
    index_k: torch.Tensor,
    seq_lens: torch.Tensor,
    block_size: int,
    out: torch.Tensor,
) -> None:
    """q (B, Hq, D), index_k (B, S, 1, D), seq_lens int32 (B) → out (B, S / block_size).

    A block scores as its best key does; a block without a visible key is -inf.
    """
    batch, cache, _, _ = index_k.shape
    # Σ over heads of q·k is (Σ q)·k: one product instead of one a head.
    query = q.float().sum(dim=1)
    scores = torch.einsum("bd,bsd->bs", query, index_k.squeeze(2).float())
    hidden = torch.arange(cache, device=q.device) >= seq_lens[:, None]
    scores = scores.masked_fill(hidden, float("-inf"))
    out.copy_(scores.view(batch, cache // block_size, block_size).amax(dim=-1))
