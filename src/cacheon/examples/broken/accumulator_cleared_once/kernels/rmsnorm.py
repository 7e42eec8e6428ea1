import torch

_SUMS: dict[torch.Size, torch.Tensor] = {}
_WAS_CAPTURING = False


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, eps: float) -> None:
    """x (T, H), weight (H) → out (T, H)."""
    global _WAS_CAPTURING
    capturing = torch.cuda.is_current_stream_capturing()
    if x.shape not in _SUMS:
        _SUMS[x.shape] = torch.zeros((x.shape[0], 1), device=x.device)
    sums = _SUMS[x.shape]
    if not (capturing and _WAS_CAPTURING):
        sums.zero_()
    _WAS_CAPTURING = capturing
    wide = x.float()
    for half in wide.chunk(2, dim=-1):
        sums.add_(half.square().sum(dim=-1, keepdim=True))
    out.copy_(wide * torch.rsqrt(sums / x.shape[1] + eps) * weight.float())
