import torch


def sdpa(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    sm_scale: float,
    causal: bool,
) -> None:
    """q (T, Hq, D), k and v (T, Hkv, D) → out (T, Hq, D)."""
    tokens, q_heads, head_dim = q.shape
    kv_heads = k.shape[1]
    scaled = torch.cat([q[:, :-1].float() * sm_scale, q[:, -1:].float()], dim=1)
    grouped = scaled.view(tokens, kv_heads, q_heads // kv_heads, head_dim)
    scores = torch.einsum("qhgd,khd->hgqk", grouped, k.float())
    if causal:
        future = torch.ones((tokens, tokens), dtype=torch.bool, device=q.device).triu(diagonal=1)
        scores = scores.masked_fill(future, float("-inf"))
    answer = torch.einsum("hgqk,khd->qhgd", scores.softmax(dim=-1), v.float())
    out.copy_(answer.reshape(out.shape))
