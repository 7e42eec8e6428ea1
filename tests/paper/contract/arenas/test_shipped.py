"""The arenas that come with the package."""

import tomllib
from pathlib import Path

import pytest

from cacheon.contract import arenas
from cacheon.contract.arenas import arena_names, shipped_arena
from cacheon.contract.coverage import cases_for
from cacheon.contract.domain import parse_domain
from cacheon.contract.slots import SLOTS
from cacheon.contract.targets import TARGETS
from cacheon.records.errors import InputError

DATA = Path(arenas.__file__).parent / "data"
ROOT = Path(__file__).parents[4]


def test_the_names_are_these() -> None:
    assert arena_names() == ("h200-decode", "h200-decode-float16", "h200-tp2", "rehearsal-cpu")


@pytest.mark.parametrize("name", arena_names())
def test_a_shipped_arena_reads_under_its_own_name_and_pins_nobody(name: str) -> None:
    arena = shipped_arena(name).arena
    assert arena.name == name
    assert arena.graph_required
    assert arena.observers == ()
    assert arena.quorum == 1
    assert arena.title


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="h200-decode, h200-decode-float16"):
        shipped_arena("../h200-decode")


def test_every_target_is_in_one_arena_of_bfloat16() -> None:
    shipped = [shipped_arena(name).arena for name in arena_names()]
    on_gpu = [a for a in shipped if a.device == "cuda" and a.context.dtype == "bfloat16"]
    assert sorted(target for arena in on_gpu for target in arena.targets) == sorted(TARGETS)


def test_the_one_for_practice_says_what_it_can_end_in() -> None:
    text = (DATA / "rehearsal-cpu.toml").read_text()
    assert shipped_arena("rehearsal-cpu").arena.device == "cpu"
    assert "NO_DECISION" in text
    assert "NO_DECISION" in shipped_arena("rehearsal-cpu").arena.title


@pytest.mark.parametrize("name", arena_names())
def test_open_ends_are_closed_by_limits_that_a_call_can_have(name: str) -> None:
    """A domain that says «at least 1» of every dimension, one at a time or all together,
    can be covered within limits and budget: no author fails by the arena's own numbers."""
    arena = shipped_arena(name).arena
    for slot in {member for target in arena.targets for member in TARGETS[target].members}:
        fields = SLOTS[slot].fields
        every = {field: {"min": 1} for field in fields}
        for capabilities in (every, *({field: {"min": 1}} for field in fields)):
            found = cases_for(
                SLOTS[slot],
                "v",
                parse_domain(capabilities, "k.json"),
                arena.context,
                seed=1,
                limits=arena.limits,
                work_budget=arena.work_budget,
                small=arena.device == "cpu",
            )
            assert found.full, (slot, capabilities, found.missing)


def test_the_files_are_shipped() -> None:
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "contract/arenas/data/*.toml" in said["tool"]["setuptools"]["package-data"]["cacheon"]
