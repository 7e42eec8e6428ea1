"""Whether a requirement can be graded at all: what it says must fit together."""

from collections import Counter
from collections.abc import Iterable

from cacheon.evidence.requirement import RequiredVariant, Requirement
from cacheon.evidence.rows import PERTURB, ranks_of
from cacheon.records.canonical import respell
from cacheon.records.digest import sha256


def unsound(requirement: Requirement) -> tuple[str, ...]:
    """What contradicts what, in words; empty where the requirement can be graded.

    1. There are members; each is named once, and every variant belongs to one.
    2. Every variant and every case stands there once; each case is described as its variant's,
       under the digest of its descriptor, with a number of ranks.
    3. A covered variant misses nothing; one that may not be routed applies to no case.
    4. Enough replays to show anything; no more observers must agree than there are keys.

    No fault of a candidate's is among these: they are the authority's. The caller owes a
    requirement that has canonical bytes: that was decoded, or can be encoded."""
    said: list[str] = []
    # 1.
    slots = [member.slot for member in requirement.members]
    if not slots:
        said.append("no member")
    said += [f"member {slot} twice" for slot in _repeated(slots)]
    # 2. and 3.
    for variant in requirement.variants:
        if variant.slot not in slots:
            said.append(f"variant {variant.slot}/{variant.variant} of no member")
        said += _unsound_variant(variant, requirement.graph_required)
    names = [f"{variant.slot}/{variant.variant}" for variant in requirement.variants]
    said += [f"variant {name} twice" for name in _repeated(names)]
    cases = [case.case for variant in requirement.variants for case in variant.cases]
    said += [f"case {case} twice" for case in _repeated(cases)]
    # 4.
    # One before a perturbation and one after it.
    fewest = 2 if PERTURB in requirement.probes else 1
    if requirement.graph_required and requirement.replays < fewest:
        said.append(f"graphs are required, with {requirement.replays} of {fewest} replays")
    keys = [observer.key for observer in requirement.observers]
    said += [f"observer {key} twice" for key in _repeated(keys)]
    if requirement.quorum > len(keys):
        said.append(f"{requirement.quorum} observers must agree, of {len(keys)}")
    return tuple(said)


def _unsound_variant(variant: RequiredVariant, graph_required: bool) -> list[str]:
    said: list[str] = []
    name = f"{variant.slot}/{variant.variant}"
    for case in variant.cases:
        if (case.descriptor.slot, case.descriptor.variant) != (variant.slot, variant.variant):
            said.append(f"case {case.case} is not of variant {name}")
        if sha256(respell(case.descriptor)) != case.case:
            said.append(f"case {case.case} is not the digest of its descriptor")
        if ranks_of(case) < 1:
            said.append(f"case {case.case} has no world size")
    if variant.covered and variant.missing:
        said.append(f"variant {name} is covered, and misses something")
    routed = variant.graph_safe == "true" or not graph_required
    if not routed and any(case.applicable for case in variant.cases):
        said.append(f"variant {name} applies where its declaration does not route it")
    return said


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)
