"""The eleven slots, as data."""

from cacheon.contract.slots import (
    all_reduce,
    ar_residual_rmsnorm,
    decode,
    fused_experts,
    fused_experts_reduce,
    moe_finalize_ar_rmsnorm,
    msa_block_score,
    msa_prefill_block_score,
    rmsnorm,
    sdpa,
    silu_and_mul,
)
from cacheon.contract.slots.model import Slot
from cacheon.records.errors import InputError

SLOTS: dict[str, Slot] = {
    module.SLOT.name: module.SLOT
    for module in (
        silu_and_mul,
        rmsnorm,
        sdpa,
        decode,
        msa_block_score,
        msa_prefill_block_score,
        fused_experts,
        fused_experts_reduce,
        all_reduce,
        ar_residual_rmsnorm,
        moe_finalize_ar_rmsnorm,
    )
}


def slot(name: str) -> Slot:
    """The slot of this name. Raises InputError, with near names, where there is none."""
    found = SLOTS.get(name)
    if found is None:
        # Imported here: only a mistake needs it, and it is slow to load.
        from difflib import get_close_matches

        near = get_close_matches(name[:64], SLOTS, n=2)
        last = {each.rpartition(".")[2]: each for each in SLOTS}
        near = near or [last[each] for each in get_close_matches(name[:64], last, n=2)]
        known = "a slot of `cacheon slots`" + (f", such as {', '.join(near)}" if near else "")
        raise InputError(place="slot", expected=known, got=repr(name))
    return found
