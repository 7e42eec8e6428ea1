"""A source of more than 5,000 lines, all of which a replay runs: for its budget."""

_HELPER = """
def helper_{n}(t, target):
    rows, width = t.shape
    wide = t.float()
    for part in wide.split(64):
        scale = part.abs().amax(dim=-1, keepdim=True)
        part = part / scale if width > 64 else part
        if width % 2:
            target[:, : width // 2].copy_(part[:, : width // 2] * scale)
        else:
            target.copy_(part)
    return helper_{m}(wide, target)

"""


def long_source(last: str) -> str:
    """An entry of `activation.silu_and_mul` over 400 helpers; `last` is what the last of
    them returns of its tensor `t`."""
    source = "".join(_HELPER.format(n=n, m=n + 1) for n in range(400))
    source += f"def helper_400(t, target):\n    return {last}\n"
    source += "def silu_and_mul(x, out):\n"
    source += "".join(f"    helper_{n}(x, out)\n" for n in range(401))
    return source
