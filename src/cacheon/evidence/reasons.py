"""Every reason by its code: one frozen table for the veto, the intake and the docs.

A code is never reused and its meaning never changes; new ones may come. Within a decision
the order here is the order of gravity: the first reason of a grade leads.
"""

from typing import Literal

from cacheon.evidence.refusals import UNKEPT, UNREADABLE
from cacheon.records.errors import InputError
from cacheon.records.strict import Record

Leads = Literal["FAIL", "NO_DECISION", "PASS", "set-aside", "refused"]


class ReasonCode(Record):
    """What a code says. `leads` is the decision that it leads to; `set-aside`: where it
    lies in a store it changes nothing, and intake refuses it by the same code; `refused`:
    only intake says so. `remedy` is what to do."""

    code: str
    leads: Leads
    title: str
    remedy: str


_FAIL = (
    (
        "applicability-differs",
        "an observer found another applicability than the requirement states",
        "Compare the variant's capabilities with the case's call. A candidate that declines a "
        "call which its declaration admits, or answers one which it excludes, must say so in "
        "its metadata; then ask for a new requirement.",
    ),
    (
        "failed-eager",
        "a case failed before any graph: load, prepare, warm-up or eager check",
        "Ordinary ABI or arithmetic: `cacheon verify` on the bundle shows the case, and "
        "`cacheon explain` the rule that the row names.",
    ),
    (
        "failed-capture",
        "a case could not be captured as the contract asks",
        "Take host reads, synchronization, allocation and compilation out of the entry; "
        "`cacheon explain` the rule that the row names.",
    ),
    (
        "failed-replay",
        "a case was captured, and a replay of it was wrong",
        "Look for a stale value or pointer, a partial write, or work on another stream; "
        "`cacheon explain` the rule that the row names.",
    ),
    (
        "compilation-not-approved",
        "the candidate compiled in a way that the arena does not approve",
        "Use an approved kind of compilation (`cacheon arena show TARGET` lists them).",
    ),
    (
        "contradiction",
        "two bound rows of one case disagree; the failure counts",
        "The failing row says what was seen. What passes on one run and fails on another is "
        "a race or reads memory that nobody wrote.",
    ),
    (
        "domain-not-covered",
        "the required cases do not cover the domain that a variant declares",
        "Declare the domain that you mean: close open ends and drop values that no published "
        "call has. What no budget can cover can only fail.",
    ),
    (
        "no-applicable-case",
        "a member of the target has no case that the candidate serves",
        "Every member needs a variant whose domain admits a required call; where graphs are "
        "required its graph_safe must be true. A fallback earns nothing.",
    ),
)
_NO_DECISION = (
    (
        "requirement-missing",
        "the requirement could not be reopened",
        "Fetch the requirement's bytes again; what was set aside says why it was not read.",
    ),
    (
        "requirement-unsound",
        "the requirement contradicts itself, so nothing can be shown for it",
        "The authority writes a new one; the detail says what does not fit.",
    ),
    (
        "no-evidence",
        "no observation is bound to the requirement",
        "Run `cacheon observe`, then `cacheon intake`; what was set aside says what was offered.",
    ),
    (
        "delivery-missing",
        "a committed delivery could not be reopened, so nobody knows what it says",
        "Restore the bytes under its digest; `cacheon fsck` lists what is damaged.",
    ),
    (
        "observation-missing",
        "a delivery lists an observation that could not be reopened",
        "Restore the bytes under the listed digest; `cacheon fsck` lists what is damaged.",
    ),
    (
        "member-missing",
        "a delivery shows nothing of a member of the target",
        "Observe again, for a new requirement.",
    ),
    (
        "variant-missing",
        "a delivery shows nothing of a selected variant",
        "Observe again, for a new requirement.",
    ),
    (
        "case-missing",
        "a delivery does not show a required case",
        "Observe again, for a new requirement.",
    ),
    (
        "incomplete",
        "an observation was not completed",
        "Infrastructure failed, not the candidate: the detail says what. Mend it and observe "
        "again, for a new requirement.",
    ),
    (
        "row-incoherent",
        "a row's own fields cannot all be true",
        "The observer wrote a row that no course writes: look at its version and its key.",
    ),
    (
        "graph-differs",
        "the observer was asked for graphs where none are required, or the reverse",
        "Observe again as the requirement says, for a new requirement.",
    ),
    (
        "rank-missing",
        "a rank of the group was not observed",
        "Observe with the whole group, for a new requirement.",
    ),
    (
        "order-missing",
        "one of the two orders was not observed",
        "Observe again, for a new requirement.",
    ),
    (
        "stage-missing",
        "a stage that the requirement asks for was not passed",
        "Observe again, for a new requirement.",
    ),
    (
        "replay-count",
        "the number of compared replays is not the required one",
        "Observe with the replay count of the requirement, for a new requirement.",
    ),
    (
        "soak-count",
        "the number of compared replays in bursts is not the required one",
        "Observe with the soak of the requirement, for a new requirement.",
    ),
    (
        "probe-missing",
        "a probe that the requirement asks for did not run",
        "Observe with a version that has the probe, for a new requirement.",
    ),
    (
        "delivered-twice",
        "one key has signed two deliveries for one nonce",
        "Ask its owner. Neither counts towards a pass; write a new requirement.",
    ),
    (
        "quorum",
        "fewer observers agree than the requirement asks",
        "Have more of the pinned keys deliver.",
    ),
)
_PASS = (
    (
        "every-case-shown",
        "every required case was observed completely and passed",
        "Nothing.",
    ),
)
_SET_ASIDE = (
    (
        "other-requirement",
        "made for another requirement",
        "Grade it under the requirement that it names.",
    ),
    (
        "other-nonce",
        "carries another nonce",
        "A nonce serves once: observe again for this requirement.",
    ),
    (
        "other-run",
        "comes from another run than its delivery",
        "Deliver the observations of one run together.",
    ),
    (
        "other-launch",
        "made on another launch than the required one",
        "Compare `cacheon launch` with the requirement's.",
    ),
    ("other-bundle", "made of another bundle", "Observe the candidate that the requirement binds."),
    (
        "other-case",
        "the call that it describes is not the one that its case digest names",
        "Describe the case as the requirement does.",
    ),
    (
        "not-required",
        "of a case that is not required",
        "Observe exactly the cases of the requirement.",
    ),
    (
        "rehearsal",
        "a rehearsal, which is never evidence",
        "Observe on a CUDA device: a CPU cannot produce capture evidence.",
    ),
    (
        "isolation",
        "made without the required isolation",
        "Observe with the isolation that the requirement asks for.",
    ),
    (
        "key-not-pinned",
        "signed by no key that the requirement pins",
        "Sign with a pinned key, or have the authority pin this one in a new requirement.",
    ),
)
_REFUSED = (
    (
        "nonce-spent",
        "this key has delivered for this nonce before",
        "A retry after NO_DECISION is a new requirement.",
    ),
    (
        "not-sorted",
        "the delivery lists its observations out of order, or one twice",
        "List each digest once, sorted.",
    ),
    ("duplicate-case", "two observations of one case in one delivery", "Deliver one row a case."),
    (
        "too-many",
        "more observations than the requirement has cases",
        "Deliver one observation for each required case.",
    ),
    (
        "requirement-unknown",
        "the store does not hold the requirement that the delivery names",
        "Put the requirement's own bytes into the store first.",
    ),
    (
        "policy-older",
        "the requirement applies an older policy than the newest one known",
        "Write a requirement under the policy in force.",
    ),
)


def _table() -> dict[str, ReasonCode]:
    parts: tuple[tuple[Leads, tuple[tuple[str, str, str], ...]], ...] = (
        ("FAIL", _FAIL),
        ("NO_DECISION", _NO_DECISION),
        ("PASS", _PASS),
        ("set-aside", (*_SET_ASIDE, *UNREADABLE)),
        ("refused", (*_REFUSED, *UNKEPT)),
    )
    return {
        code: ReasonCode(code=code, leads=leads, title=title, remedy=remedy)
        for leads, rows in parts
        for code, title, remedy in rows
    }


REASONS: dict[str, ReasonCode] = _table()
RANK: dict[str, int] = {code: rank for rank, code in enumerate(REASONS)}
"""Gravity: the lower leads."""


def reason_code(code: str) -> ReasonCode:
    """What a code means. Raises InputError where there is none such."""
    known = REASONS.get(code)
    if known is None:
        raise InputError(place="reason", expected="a reason code", got=repr(code))
    return known
