"""`verify` as a workflow, with an examination that starts nothing."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from cacheon.engine.outcome import RunOutcome
from cacheon.engine.request import Progress, RunSettings, VariantRequest
from cacheon.records.errors import (
    CacheonError,
    GraphProofUnavailable,
    InfrastructureError,
    InputError,
)
from cacheon.workflows.examples import EXAMPLES
from cacheon.workflows.options import Options
from cacheon.workflows.verify import settings_for, verify
from cacheon.workflows.watch import watch_bundles

from .fake import FakeExamination, Judge, passes

SILU = EXAMPLES / "good" / "torch_silu_and_mul"
RMSNORM = EXAMPLES / "good" / "torch_rmsnorm"
TWO = EXAMPLES / "good" / "two_variants_silu"
CPU = Options(device="cpu")


class Starter:
    """Starts fakes and remembers them."""

    def __init__(self, judge: Judge = passes) -> None:
        self.judge = judge
        self.made: list[FakeExamination] = []

    def __call__(self, settings: RunSettings, watch: Callable[[Progress], None]) -> FakeExamination:
        self.made.append(FakeExamination(settings, watch, self.judge))
        return self.made[-1]


def _copied(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target))


def test_where_no_case_applies_it_says_why(tmp_path: Path) -> None:
    bundle = _copied(SILU, tmp_path / "b")
    (metadata,) = (bundle / "metadata").iterdir()
    metadata.write_text('{"graph_safe": true, "capabilities": {"model": ["m"]}}')
    start = Starter()
    run = verify([bundle], CPU, start=start)
    (outcome,) = run.bundles[0].variants
    assert (outcome.word, run.exit_code) == ("N/A", 1)
    assert "no case applies: model is not a fact of this call; `cacheon explain CG805`" in (
        start.made[0].requests[0].notes
    )
    stated = Options(device="cpu", context={"model": "m"})
    assert verify([bundle], stated, start=Starter()).exit_code == 0


def test_a_good_bundle_passes_on_a_cpu() -> None:
    start = Starter()
    run = verify([SILU], CPU, start=start)
    assert run.exit_code == 0
    (outcome,) = run.bundles[0].variants
    assert (outcome.word, outcome.graph, outcome.rehearsal) == (
        "NUMERICAL_PASS",
        "NOT_VERIFIED",
        "passed",
    )
    assert run.environment["device"] == "fake"
    assert run.dtype == "float32"
    request = start.made[0].requests[0]
    assert request.control is not None and request.larger is not None
    assert any("assumed" in note for note in request.notes)


def test_one_bad_bundle_stops_no_other(tmp_path: Path) -> None:
    start = Starter()
    run = verify([tmp_path / "none", SILU, RMSNORM], CPU, start=start)
    assert run.exit_code == 2
    assert [bundle.exit_code for bundle in run.bundles] == [2, 0, 0]
    assert len(start.made) == 1


def test_where_all_are_unusable_nothing_is_started(tmp_path: Path) -> None:
    start = Starter()
    run = verify([tmp_path / "none"], CPU, start=start)
    assert (run.exit_code, start.made) == (2, [])


def test_the_snapshot_is_what_is_examined_and_it_is_gone_afterwards() -> None:
    roots: list[Path] = []

    def look(request: VariantRequest) -> str:
        root = Path(request.candidate.root)
        assert (root / request.candidate.source).is_file()
        assert root != SILU
        roots.append(root)
        return "ok"

    verify([SILU], CPU, start=Starter(look))
    assert roots and not roots[0].exists()


@pytest.mark.parametrize("what", ["others", "file", "link", "mode", "nothing"])
def test_no_bundle_takes_the_place_of_the_next_ones_snapshot(tmp_path: Path, what: str) -> None:
    """A candidate may write where its own snapshot lies, and once kept the next from coming."""
    roots: list[Path] = []

    def spoil(request: VariantRequest) -> str:
        root = Path(request.candidate.root)
        roots.append(root)
        if len(roots) == 1:
            for number in range(3):
                (root.parent / str(number)).mkdir(exist_ok=True)
            if what not in ("others", "mode"):
                root.parent.rename(tmp_path / "away")
            if what == "file":
                root.parent.touch()
            elif what == "link":
                root.parent.symlink_to(tmp_path / "away")
            elif what == "mode":
                root.parent.chmod(0)
        return "fail" if len(roots) == 1 else "ok"

    run = verify([SILU, RMSNORM], CPU, start=Starter(spoil))
    assert [bundle.exit_code for bundle in run.bundles] == [1, 0], run.bundles[1].error
    first, second = roots
    assert first.parent == second.parent and first.name != second.name
    assert not os.path.lexists(first.parent)
    if what == "link":
        assert (tmp_path / "away").is_dir()


def test_infrastructure_is_no_decision_and_hides_no_failure() -> None:
    seen: list[str] = []

    def judge(request: VariantRequest) -> CacheonError | str:
        seen.append(request.variant)
        return "fail" if len(seen) == 1 else InfrastructureError("the grader was lost")

    run = verify([TWO], CPU, start=Starter(judge))
    assert run.bundles[0].error == "the grader was lost"
    assert len(run.bundles[0].variants) == 1
    assert run.exit_code == 1
    alone = verify([SILU], CPU, start=Starter(lambda _: InfrastructureError("lost")))
    assert alone.exit_code == 3


def test_a_variant_and_cases_can_be_named() -> None:
    run = verify([TWO], CPU, start=Starter())
    names = [variant.variant for variant in run.bundles[0].variants]
    assert len(names) == 2
    one = verify([TWO], Options(device="cpu", variants=(names[1],)), start=Starter())
    assert [variant.variant for variant in one.bundles[0].variants] == [names[1]]
    assert "not named by --variant" in one.bundles[0].not_selected[0]
    wrong = verify([TWO], Options(device="cpu", variants=("nobody",)), start=Starter())
    assert wrong.exit_code == 2 and "nobody" in wrong.bundles[0].error
    label = run.bundles[0].variants[0].rows[-1].label
    seeded = Options(device="cpu", seed=run.seed, cases=(label,))
    few = verify([TWO], seeded, start=Starter())
    assert {row.label for v in few.bundles[0].variants for row in v.rows} == {label}
    none = verify([TWO], Options(device="cpu", cases=("no such label",)), start=Starter())
    assert none.exit_code == 2 and "--case" in none.bundles[0].error


def test_rows_outside_the_target_are_listed_and_taken_with_all(tmp_path: Path) -> None:
    bundle = _copied(SILU, tmp_path / "b")
    manifest = (bundle / "manifest.toml").read_text()
    source = 'source = "' + manifest.split('source = "')[1].split('"')[0] + '"'
    entry = 'entry = "' + manifest.split('entry = "')[1].split('"')[0] + '"'
    target = (
        ""
        if "[competition]" in manifest
        else ('[competition]\ntarget = "activation.silu_and_mul"\nmode = "slot"\n')
    )
    extra = f'\n[[ops]]\nslot = "norm.rmsnorm"\n{source}\n{entry}\n'
    (bundle / "manifest.toml").write_text(
        manifest.replace("[[ops]]", f"{target}[[ops]]", 1) + extra
    )
    run = verify([bundle], CPU, start=Starter())
    assert "not a member" in run.bundles[0].not_selected[0]
    whole = verify([bundle], Options(device="cpu", every_row=True), start=Starter())
    assert [v.slot for v in whole.bundles[0].variants] == [
        "activation.silu_and_mul",
        "norm.rmsnorm",
    ]


def test_seeds_are_fresh_unless_one_is_given() -> None:
    seeds = {settings_for(CPU).seed for _ in range(8)}
    assert len(seeds) == 8
    assert settings_for(Options(device="cpu", seed=7)).seed == 7


def test_soak_has_a_default_for_each_device() -> None:
    assert settings_for(CPU).soak == 64
    assert settings_for(Options(device="cuda")).soak == 256
    assert settings_for(Options(device="cpu", soak=3)).soak == 3


def test_graph_proof_cannot_be_demanded_of_a_cpu() -> None:
    with pytest.raises(GraphProofUnavailable) as caught:
        settings_for(Options(device="cpu", require_graph=True))
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("pairs", [{"colour": "red"}, {"alignment": "many"}])
def test_a_context_that_no_call_has_is_refused_before_anything_starts(
    pairs: dict[str, str],
) -> None:
    start = Starter()
    with pytest.raises(InputError, match="--context"):
        verify([SILU], Options(device="cpu", context=pairs), start=start)
    assert start.made == []


def test_a_hidden_gpu_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert settings_for(Options()).device == "cpu"


def test_watching_shows_each_save_with_a_fresh_seed(tmp_path: Path) -> None:
    bundle = _copied(SILU, tmp_path / "b")
    start = Starter()
    shown: list[RunOutcome] = []

    def saves(_: object) -> list[int]:
        (bundle / "manifest.toml").write_text("not toml [")
        return [1]

    code = watch_bundles([bundle], CPU, shown.append, lambda _: None, start=start, saves=saves)
    assert [run.exit_code for run in shown] == [0, 2]
    assert code == 2
    assert len(start.made) == 1 and len(set(start.made[0].seeds)) == 2


def test_an_interruption_ends_the_watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the code of the last run, and no word of watchfiles' own."""
    bundle = _copied(SILU, tmp_path / "b")
    monkeypatch.setitem(sys.modules, "watchfiles", SimpleNamespace(watch=_interrupted))
    shown: list[RunOutcome] = []
    assert watch_bundles([bundle], CPU, shown.append, lambda _: None, start=Starter()) == 0
    assert len(shown) == 2


def _interrupted(*_: Path, raise_interrupt: bool) -> Iterator[int]:
    yield 1
    assert raise_interrupt, "watchfiles would say that it was interrupted"
    raise KeyboardInterrupt


def test_nothing_can_be_watched_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to watch"):
        watch_bundles([tmp_path / "none"], CPU, lambda _: None, lambda _: None, start=Starter())


def test_triton_is_made_ready_only_where_a_source_may_compile(tmp_path: Path) -> None:
    triton = EXAMPLES / "good" / "triton_silu_and_mul"
    compiled = _copied(SILU, tmp_path / "b")
    (source,) = (compiled / "kernels").iterdir()
    source.write_text(source.read_text() + "\nsilu_and_mul = torch.compile(silu_and_mul)\n")
    hints = []
    for bundles in ([SILU, RMSNORM], [SILU, triton], [compiled], [SILU, tmp_path / "none"]):
        start = Starter()
        verify(bundles, CPU, start=start)
        hints.append(start.made[0].settings.triton)
    assert hints == [False, True, True, False]
