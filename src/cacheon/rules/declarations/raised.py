"""CG801: the entry or prepare raised."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG801",
    title="the entry or prepare raised",
    group="declarations",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("prepare", "eager", "capture"),
    why=(
        "The callable ended with an exception in an ordinary call. Either its signature is "
        "not the slot's, or it does not handle a shape, dtype or layout that the variant's "
        "domain says it serves."
    ),
    remedy=(
        "Compare the arguments with `cacheon slots NAME`: same order, no defaults needed. "
        "Handle the case, or exclude it in the metadata's capabilities: a domain that says "
        "what you support is no shame."
    ),
    unscanned="whether a line is reached with these shapes is known when it runs",
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.shape[1] % 1024:
        raise ValueError(f"width {x.shape[1]} is no multiple of 1,024")
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
