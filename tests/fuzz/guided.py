"""One target for some seconds, in a process of its own: guided by what is covered where
atheris is installed, else blindly. Started by `tests.fuzz.run`."""

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.loop import MOST_MEMORY, Finding, attempts, regressions
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import PLACES, target
from tests.fuzz.targets.target import Target

INSTRUMENTED = ("cacheon", "tomllib")
DONE = "executions:"
"""Begins the last line of a run that found nothing."""


def guide(name: str, seconds: int, seed: int, findings: Path) -> None:
    """Does not return: libFuzzer ends the process. A finding lies in `findings` then."""
    import atheris

    with atheris.instrument_imports(include=list(INSTRUMENTED)):
        chosen = target(name)
    seeds = [*chosen.seeds(), *(path.read_bytes() for path in regressions(name))]
    corpus = findings / "corpus"
    corpus.mkdir()
    for number, data in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(data)
    options = {
        "max_total_time": seconds,
        "max_len": chosen.most,
        "timeout": int(chosen.seconds),
        "rss_limit_mb": MOST_MEMORY >> 20,
        "artifact_prefix": f"{findings}{os.sep}",
        "print_final_stats": 1,
        "seed": seed,
        "verbosity": 1,
    }
    atheris.Setup(
        [sys.argv[0], *(f"-{key}={value}" for key, value in options.items()), str(corpus)],
        _once(chosen),
        # Looked up when it is called: atheris puts it there as it begins.
        custom_mutator=_mutator(chosen, seeds, lambda data, most: atheris.Mutate(data, most)),
    )
    atheris.Fuzz()


def _once(chosen: Target) -> Callable[[bytes], None]:
    def once(data: bytes) -> None:
        chosen.check(data)

    return once


def _mutator(
    chosen: Target, seeds: list[bytes], blindly: Callable[[bytes, int], bytes]
) -> Callable[[bytes, int, int], bytes]:
    """Half of the inputs are libFuzzer's own, half are worse in the ways of the language."""

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        draw = Random(seed)
        if draw.random() < 0.5:
            return blindly(data, most)
        return mutated(data, draw, seeds, chosen.words)[:most]

    return mutator


def wander(name: str, seconds: int, seed: int, findings: Path) -> int:
    """The same without a guide; the exit code."""
    try:
        tried = attempts(target(name), seed, 1 << 60, seconds)
    except Finding as finding:
        (findings / "finding").write_bytes(finding.data)
        raise
    print(f"{DONE} {tried.executions}")
    return 0


def main() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=PLACES)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--findings", type=Path, required=True)
    given = parser.parse_args()
    way = guide if importlib.util.find_spec("atheris") else wander
    return way(given.target, given.seconds, given.seed, given.findings)


if __name__ == "__main__":
    sys.exit(main())
