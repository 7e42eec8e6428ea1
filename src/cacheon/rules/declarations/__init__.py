"""CG8xx: the contract's arithmetic, and what a bundle declares."""

from cacheon.rules.declarations import (
    cannot_load,
    ignore_comment,
    needs_cuda,
    no_case,
    not_finite,
    raised,
    wrong_arithmetic,
    wrong_place,
)

RULES = (
    raised.RULE,
    wrong_arithmetic.RULE,
    not_finite.RULE,
    wrong_place.RULE,
    no_case.RULE,
    cannot_load.RULE,
    needs_cuda.RULE,
    ignore_comment.RULE,
)
