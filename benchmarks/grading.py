"""How long 10,000 rows take to grade, start-up apart: `python benchmarks/grading.py`.

Binding and veto of rows in memory; the same of rows that all fail, with a reason each; and
all of it from a store on disc, every byte read, hashed and let through the gate. Exits with 1
where one of them is not within the budget. The gate alone is measured beside them.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.paper.evidence.deciding.stored import (  # noqa: E402
    PINNED,
    PUBLIC,
    sealed,
    statement,
)
from tests.paper.evidence.deciding.world import (  # noqa: E402
    REDUCE,
    WANTED,
    a_delivery,
    digest_of,
    required_case,
    required_variant,
    rows_of,
)

from cacheon.evidence.binding import bind  # noqa: E402
from cacheon.evidence.grading import grade  # noqa: E402
from cacheon.evidence.observation import Observation  # noqa: E402
from cacheon.evidence.pointers import DELIVERIES, named  # noqa: E402
from cacheon.evidence.requirement import Requirement  # noqa: E402
from cacheon.evidence.store import DirectoryStore  # noqa: E402
from cacheon.evidence.veto import decide  # noqa: E402
from cacheon.records.canonical import decode, encode  # noqa: E402

BUDGET = 0.5
ROWS = 10_000
_SLOT = WANTED.members[0].slot


def a_requirement(rows: int) -> Requirement:
    """`rows` cases: half of one variant, half of a collective's of two ranks."""
    half = rows // 2
    return msgspec.structs.replace(
        WANTED,
        variants=(
            required_variant(
                _SLOT, "v", *(required_case(_SLOT, "v", tokens) for tokens in range(half))
            ),
            required_variant(
                REDUCE,
                "r",
                *(required_case(REDUCE, "r", tokens, world=2) for tokens in range(rows - half)),
            ),
        ),
    )


def best(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of the processor in the fastest of `times` runs: one thread, no waiting."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)


def from_store(requirement: Requirement, seen: list[Observation]) -> float:
    """Seconds from digests to a grade, every byte read and checked again."""
    pinned = msgspec.structs.replace(requirement, observers=PINNED.observers)
    digest = digest_of(pinned)
    rows = [msgspec.structs.replace(row, requirement=digest) for row in seen]
    with (
        tempfile.TemporaryDirectory() as directory,
        DirectoryStore.open(Path(directory) / "store", create=True, fsync=False) as store,
    ):
        for record in (pinned, *rows):
            store.put(encode(record))
        data = sealed(statement(rows, requirement=pinned))
        store.link(DELIVERIES, named(digest, PUBLIC[0]), store.put(data))
        if grade(store, digest).decision != "PASS":
            raise SystemExit("the benchmark's own evidence does not pass")
        return best(lambda: grade(store, digest))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args().rows
    requirement = a_requirement(rows)
    digest, seen = digest_of(requirement), rows_of(requirement)
    failing = [msgspec.structs.replace(row, failure="replay", stage="replay") for row in seen]
    whole = a_delivery(seen, requirement)
    failed = a_delivery(failing, requirement)
    stored = [encode(row) for row in seen]
    figures = [
        ("bind and decide", best(lambda: decide(requirement, bind(requirement, digest, [whole])))),
        (
            "the same, all fail",
            best(lambda: decide(requirement, bind(requirement, digest, [failed]))),
        ),
        ("all of it, from a store on disc", from_store(requirement, seen)),
    ]
    within = True
    for what, seconds in figures:
        within &= seconds <= BUDGET
        mark = "ok  " if seconds <= BUDGET else "OVER"
        print(f"{mark} {what}: {rows} rows in {seconds:.3f} s, budget {BUDGET} s")
    gate = best(lambda: [decode(each, Observation) for each in stored])
    print(f"     the gate alone: {rows} rows of {len(stored[0])} bytes in {gate:.3f} s")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
