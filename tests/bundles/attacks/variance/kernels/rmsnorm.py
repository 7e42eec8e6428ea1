import torch
def rmsnorm(x, weight, out, eps):
    wide = x.float()
    var = wide.var(dim=-1, keepdim=True)          # unbiased variance about the mean, not mean square
    out.copy_(wide * torch.rsqrt(var + eps) * weight.float())
