"""What the attention draws share: how far queries spread, and how far a needle stands out.

A needle is a key that takes nearly all the weight of a query. Where it is the last
visible key, dropping that key changes the whole answer; where it is the first invisible
one, so does reading it. Among a thousand ordinary keys neither would show.
"""

import math

SPREAD = 0.5
"""The standard deviation of a query's random part, so of its logits with ordinary keys.
Scores rounded to bfloat16 are off by up to 0.4 %: the smaller the scores that compete, the
less does that move an honest kernel's answer."""

NEEDLE_LOGIT = 110.0
"""A last visible key's logit, about: e^110 is more than float32 holds, so that who does
not subtract the largest score divides infinities. Nothing competes with it, so rounding it
changes nothing."""


def trap_logit(keys: int) -> float:
    """The logit with which one more key outweighs all of `keys` ordinary ones, or nearly
    so: they average out, it does not."""
    return min(NEEDLE_LOGIT, math.log(max(keys, 1)) + 1.5)
