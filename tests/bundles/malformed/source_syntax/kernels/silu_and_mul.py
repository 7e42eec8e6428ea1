from torch.nn.functional import silu


def silu_and_mul(x, out)
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
