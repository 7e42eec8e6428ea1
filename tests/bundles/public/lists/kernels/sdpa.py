import torch


def sdpa(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    sm_scale: float,
    causal: bool,
) -> None:
    """q (T, Hq, D), k and v (T, Hkv, D) → out (T, Hq, D).

    Every Hq / Hkv neighbouring heads of q share one head of k and v.
    """
    tokens, q_heads, head_dim = q.shape
    kv_heads = k.shape[1]
    grouped = q.float().view(tokens, kv_heads, q_heads // kv_heads, head_dim)
    scores = torch.einsum("qhgd,khd->hgqk", grouped, k.float()) * sm_scale
    if causal:  # a Python bool, settled at capture: no tensor is asked
        position = torch.arange(tokens, device=q.device)
        future = position[None, :] > position[:, None]
        scores = scores.masked_fill(future, float("-inf"))
    answer = torch.einsum("hgqk,khd->qhgd", scores.softmax(dim=-1), v.float())
    out.copy_(answer.reshape(out.shape))
