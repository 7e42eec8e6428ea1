import torch
def silu_and_mul(x, out):
    g, u = x.float().chunk(2, dim=-1)
    e = g.exp()
    out.copy_(g * e / (1 + e) * u)     # NaN for gate > 88.7
