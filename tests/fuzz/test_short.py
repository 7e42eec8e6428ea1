"""Every target for a second, always the same inputs, and every input that was a finding once.
`make fuzz` looks for new ones."""

import time
from pathlib import Path

import pytest
from tests.fuzz.loop import REGRESSIONS, Finding, attempt, attempts, regressions
from tests.fuzz.targets import PLACES, target
from tests.fuzz.targets.target import Target

EXECUTIONS = {
    "records": 600,
    "envelope": 1000,
    "keys": 1500,
    "pointer": 600,
    "format": 900,
    "index": 80,
    "log": 200,
    "checkpoints": 200,
    "arena": 1500,
    "bundle": 200,
    "source": 60,
    "frames": 4000,
    "dump": 4000,
}
"""About a second of each."""


KEPT = [(name, path) for name in PLACES for path in regressions(name)]


@pytest.mark.parametrize("name", PLACES)
def test_seeds_are_accepted(name: str) -> None:
    chosen = target(name)
    assert len(set(chosen.seeds())) == len(chosen.seeds())
    for data in chosen.seeds():
        assert len(data) <= chosen.most
        assert attempt(chosen, data), data[:200]


@pytest.mark.parametrize("name", PLACES)
def test_a_second_of_each_parser(name: str) -> None:
    tried = attempts(target(name), seed=3, executions=EXECUTIONS[name])
    # A target that takes everything, or nothing, looks at no more than the door.
    assert tried.executions == EXECUTIONS[name]
    assert 0 < tried.accepted < tried.executions


@pytest.mark.parametrize(("name", "path"), KEPT, ids=lambda value: getattr(value, "name", value))
def test_what_was_a_finding_is_none_now(name: str, path: Path) -> None:
    attempt(target(name), path.read_bytes())


def test_every_kept_input_belongs_to_a_target() -> None:
    assert {path.name for path in REGRESSIONS.iterdir()} <= set(PLACES)


@pytest.mark.parametrize(
    "fault", [KeyError("k"), AssertionError(), RecursionError(), SystemExit(0)]
)
def test_whatever_is_no_refusal_is_a_finding(fault: BaseException) -> None:
    def check(data: bytes) -> bool:
        if len(data) > 3:
            raise fault
        return True

    broken = Target("broken", check, lambda: [b"abc"])
    with pytest.raises(Finding, match=type(fault).__name__) as caught:
        attempts(broken, seed=1, executions=1000)
    assert len(caught.value.data) > 3


def test_what_takes_too_long_is_a_finding() -> None:
    def check(data: bytes) -> bool:
        while True:
            try:
                time.sleep(10)
            except Exception:
                continue

    with pytest.raises(Finding, match=r"Late: not done in 0\.2 s"):
        attempt(Target("slow", check, lambda: [b""], seconds=0.2), b"")


def test_the_same_seed_tries_the_same() -> None:
    runs: list[list[bytes]] = []
    for _ in range(2):
        seen: list[bytes] = []
        recorder = Target(
            "recorder", lambda data, seen=seen: not seen.append(data), target("arena").seeds
        )
        attempts(recorder, seed=5, executions=200)
        runs.append(seen)
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 150


def test_every_target_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "fuzzing.md").read_text()
    assert [name for name in PLACES if f"`{name}`" not in page] == []
