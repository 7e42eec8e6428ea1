import torch


def decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
    out: torch.Tensor,
) -> None:
    """q (B, Hq, D), k and v (B, S, Hkv, D), seq_lens int32 (B) → out (B, Hq, D).

    Row b attends to its first seq_lens[b] keys.
    """
    batch, q_heads, head_dim = q.shape
    cache, kv_heads = k.shape[1:3]
    grouped = q.float().view(batch, kv_heads, q_heads // kv_heads, head_dim)
    scores = torch.einsum("bhgd,bshd->bhgs", grouped, k.float()) * sm_scale
    # The whole cache is scored, then masked: the lengths stay on the device.
    hidden = torch.arange(cache, device=q.device) >= seq_lens[:, None]
    scores = scores.masked_fill(hidden[:, None, None], float("-inf"))
    answer = torch.einsum("bhgs,bshd->bhgd", scores.softmax(dim=-1), v.float())
    out.copy_(answer.reshape(out.shape))
