"""A requirement in words: what it binds, and what can only fail."""

from collections.abc import Iterator, Sequence

from cacheon.evidence.grade import Reason
from cacheon.evidence.launch import Launch
from cacheon.evidence.requirement import Requirement
from cacheon.report.line import Line


def requirement_lines(
    requirement: Requirement, digest: str, foreseen: Sequence[Reason], notes: Sequence[str]
) -> Iterator[Line]:
    """One line a variant, then what can only fail."""
    yield [("bold", f"requirement {digest}")]
    policy = requirement.policy
    yield [
        ("", f"  {requirement.target} in {policy.arena} version {policy.version}"),
        ("dim", f"  nonce {requirement.nonce[:12]}…"),
    ]
    for variant in requirement.variants:
        applicable = sum(case.applicable for case in variant.cases)
        domain = "covered" if variant.covered else "partial"
        yield [
            ("", f"  {variant.slot} variant={variant.variant}"),
            ("", f" cases={applicable}/{len(variant.cases)} domain={domain}"),
        ]
    for reason in foreseen:
        yield [("red", f"  can only FAIL: {reason_words(reason)}")]
    for note in notes:
        yield [("yellow", f"  {note}")]


def reason_words(reason: Reason) -> str:
    """A reason on one line: its code, what it is about, its detail."""
    about = " ".join(text for text in (reason.slot, reason.variant) if text)
    said = f"{reason.code}: {about}" if about else reason.code
    return f"{said}: {reason.detail}" if reason.detail else said


def launch_line(launch: Launch) -> Line:
    """A machine on one line."""
    first = launch.devices[0]
    sizes = f" ({first.architecture}, {first.memory} MiB)" if first.architecture else ""
    versions = f"torch {launch.torch}, triton {launch.triton or 'none'}"
    if launch.cuda:
        versions += f", CUDA {launch.cuda}, driver {launch.driver}"
    return [("", f"{len(launch.devices)} × {first.name}{sizes}, {versions}")]
