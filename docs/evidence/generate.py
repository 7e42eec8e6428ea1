"""Writes reasons.md from the table of reason codes: `make reference`. A test compares the two."""

import sys
from pathlib import Path

from cacheon.evidence.reasons import REASONS, Leads

TARGET = Path(__file__).with_name("reasons.md")
_HEAD = """# Reason codes

Written by `make reference` from `cacheon.evidence.reasons`. Codes are frozen: one is never
reused and never changes its meaning.

A grade lists every reason that holds, and the first one leads: `FAIL` before `NO_DECISION`,
and within each in the order below.
"""
_PARTS: dict[Leads, tuple[str, str]] = {
    "FAIL": ("FAIL", "The candidate failed, or can only fail. Exit code 1."),
    "NO_DECISION": (
        "NO_DECISION",
        "Nothing was decided, for or against. Exit code 3. A retry is a new requirement: a "
        "key delivers once for a nonce.",
    ),
    "PASS": ("PASS", "Exit code 0."),
    "set-aside": (
        "Set aside, or refused",
        "`intake` refuses bytes like these with exit code 2. Where they lie in a store, a "
        "grade lists them as set aside, and they change nothing; only what a delivery or a "
        "pointer had promised is then missing.",
    ),
    "refused": ("Refused", "Exit code 2; nothing was kept. No grade has these codes."),
}


def reference() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(_part(leads) for leads in _PARTS)])


def _part(leads: Leads) -> str:
    title, text = _PARTS[leads]
    rows = [
        f"| `{row.code}` | {row.title} | {row.remedy} |"
        for row in REASONS.values()
        if row.leads == leads
    ]
    head = "| code | meaning | what to do |\n| --- | --- | --- |"
    return "\n".join([f"## {title}", "", text, "", head, *rows, ""])


if __name__ == "__main__":
    TARGET.write_text(reference())
    sys.stdout.write(f"wrote {TARGET}\n")
