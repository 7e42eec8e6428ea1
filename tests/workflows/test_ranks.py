"""Evidence of collectives: every rank of the world is required, observed and graded."""

from pathlib import Path

import msgspec
import pytest
from tests.workflows.seeing import SeeingExamination
from tests.workflows.test_qualify import nobody

from cacheon.bundle import open_bundle
from cacheon.engine.outcome import CaseRow, RankResult, VariantOutcome
from cacheon.engine.request import DeviceFacts, SeenDevice, VariantRequest
from cacheon.evidence.grading import grade
from cacheon.evidence.observation import Observation
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import decode
from cacheon.records.errors import InputError
from cacheon.report.results import Qualification
from cacheon.workflows.examples import EXAMPLES
from cacheon.workflows.launch import launch
from cacheon.workflows.options import Options
from cacheon.workflows.qualify import qualify
from cacheon.workflows.selection import request_for
from cacheon.workflows.verify import settings_for, verify

GOOD = EXAMPLES / "good"
ALL_REDUCE, EPILOGUE = GOOD / "torch_all_reduce", GOOD / "moe_epilogue"
ONE = SeenDevice(name="NVIDIA H200", architecture="sm90", memory=143_000)


class TwoRanks(SeeingExamination):
    """Two GPUs that are alike; every rank of a row has walked the whole course."""

    devices: tuple[SeenDevice, ...] = (ONE, ONE)
    told: tuple[int, ...] = (0, 1)

    def facts(self) -> DeviceFacts:
        return msgspec.structs.replace(super().facts(), devices=self.devices)

    def examine(self, request: VariantRequest, *, last: bool = False) -> VariantOutcome:
        assert request.ranks == 2
        return super().examine(request, last=last)

    def _walked(self, row: CaseRow) -> CaseRow:
        walked = super()._walked(row)
        ranks = tuple(RankResult(rank=rank, orders=walked.orders) for rank in self.told)
        return msgspec.structs.replace(walked, ranks=ranks)


def decided(
    tmp_path: Path, bundle: Path, start: type[SeeingExamination] = TwoRanks
) -> Qualification:
    return qualify([bundle], "h200-tp2", tmp_path / "store", Options(), nobody, start=start)


def observed(tmp_path: Path, run: Qualification) -> list[Observation]:
    seen = run.bundles[0].observed
    assert seen is not None
    with DirectoryStore.open(tmp_path / "store") as store:
        return [decode(store.get(digest), Observation) for digest in seen.observations]


@pytest.mark.parametrize("bundle", [ALL_REDUCE, EPILOGUE, GOOD / "torch_fused_experts_reduce"])
def test_what_every_rank_passes_is_a_pass_that_anyone_recomputes(
    tmp_path: Path, bundle: Path
) -> None:
    run = decided(tmp_path, bundle)
    made = run.bundles[0].grade
    assert made is not None and made.decision == "PASS", (made, run.bundles[0].error)
    with DirectoryStore.open(tmp_path / "store") as store:
        assert grade(store, run.bundles[0].requirement) == made
    for row in observed(tmp_path, run):
        assert [each.rank for each in row.ranks] == [0, 1]
        assert row.descriptor.call["world_size"] == row.descriptor.call["tp_size"] == 2


def test_an_atomic_target_needs_both_members(tmp_path: Path) -> None:
    one = tmp_path / "one"
    for path in EPILOGUE.rglob("*"):
        if path.is_file():
            (one / path.relative_to(EPILOGUE)).parent.mkdir(parents=True, exist_ok=True)
            (one / path.relative_to(EPILOGUE)).write_bytes(path.read_bytes())
    manifest = (one / "manifest.toml").read_text()
    (one / "manifest.toml").write_text(manifest[: manifest.rindex("[[ops]]")])
    run = decided(tmp_path, one)
    assert run.exit_code != 0
    assert run.bundles[0].grade is None or run.bundles[0].grade.decision != "PASS"


def test_a_rank_that_nobody_observed_decides_nothing(tmp_path: Path) -> None:
    class OnlyOne(TwoRanks):
        told = (0,)

    made = decided(tmp_path, ALL_REDUCE, OnlyOne).bundles[0].grade
    assert made is not None
    assert (made.decision, made.reasons[0].code) == ("NO_DECISION", "rank-missing")


def test_one_gpu_is_too_few(tmp_path: Path) -> None:
    class Alone(TwoRanks):
        devices = (ONE,)

    assert "2 or more devices" in decided(tmp_path, ALL_REDUCE, Alone).bundles[0].error


def test_ranks_in_groups_of_fewer_are_refused(tmp_path: Path) -> None:
    text = _arena().replace("tp_size = 2", "tp_size = 1")
    arena = tmp_path / "other.toml"
    arena.write_text(text)
    run = qualify([ALL_REDUCE], str(arena), tmp_path / "store", Options(), nobody, start=TwoRanks)
    assert "tp_size the same as world_size" in run.bundles[0].error


def _arena() -> str:
    return (EXAMPLES.parent / "contract" / "arenas" / "data" / "h200-tp2.toml").read_text()


# --- verify ----------------------------------------------------------------------------------


def test_without_ranks_a_collective_is_not_selected() -> None:
    run = verify([ALL_REDUCE], Options(device="cuda"), nobody, start=TwoRanks)
    assert run.exit_code == 2
    assert "a collective needs ranks: add --world-size 2, or more" in run.bundles[0].error


def test_ranks_stand_in_the_descriptor() -> None:
    run = verify([ALL_REDUCE], Options(device="cuda", world_size=2), nobody, start=TwoRanks)
    assert run.exit_code == 0
    for row in run.bundles[0].variants[0].rows:
        assert row.descriptor["world_size"] == row.descriptor["tp_size"] == 2


def test_what_one_process_calls_alone_stays_alone() -> None:
    facts = DeviceFacts(device="cpu", name="cpu", architecture="", torch="")
    row = open_bundle(GOOD / "torch_rmsnorm").variants[0]
    request = request_for(row, Path("/nowhere"), Options(world_size=4), facts, 1)
    assert request.ranks == 1
    assert {case.descriptor["world_size"] for case in request.cases} == {1}


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        ((ONE,), "at most 1, one GPU a rank"),
        ((ONE, msgspec.structs.replace(ONE, name="another")), "GPUs that are alike"),
    ],
)
def test_there_must_be_a_gpu_a_rank_and_all_alike(
    devices: tuple[SeenDevice, ...], words: str
) -> None:
    class Other(TwoRanks):
        pass

    Other.devices = devices
    run = verify([ALL_REDUCE], Options(device="cuda", world_size=2), nobody, start=Other)
    assert run.exit_code == 2
    assert words in run.bundles[0].error


@pytest.mark.parametrize(
    ("options", "place"),
    [
        (Options(world_size=4, tp_size=2), "--tp-size"),
        (Options(world_size=1, tp_size=2), "--tp-size"),
        (Options(world_size=2, isolation="inline"), "--isolation"),
    ],
)
def test_ranks_that_make_no_group_are_refused(options: Options, place: str) -> None:
    with pytest.raises(InputError, match=place):
        settings_for(options)


def test_a_launch_lists_every_gpu() -> None:
    assert len(launch("cuda", start=TwoRanks).devices) == 2
