"""From a bundle to a decision, and every way in which a run can be interrupted."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.workflows.seeing import SeeingExamination

from cacheon.engine.outcome import CaseRow, OrderResult
from cacheon.engine.request import Progress, RunSettings, VariantRequest
from cacheon.evidence.grading import grade
from cacheon.evidence.keys import Key, new_key
from cacheon.evidence.launch import Launch
from cacheon.evidence.minimum import raise_minimum
from cacheon.evidence.observation import Observation
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import decode, encode
from cacheon.records.errors import InfrastructureError, InputError
from cacheon.workflows.examples import good_example
from cacheon.workflows.launch import launch
from cacheon.workflows.observe import observe
from cacheon.workflows.options import Options
from cacheon.workflows.qualify import qualify
from cacheon.workflows.require import issue
from cacheon.workflows.verify import verify

EXAMPLES = Path(__file__).parents[2] / "src" / "cacheon" / "examples"
SILU = EXAMPLES / "good" / "torch_silu_and_mul"
TWO = EXAMPLES / "good" / "two_variants_silu"
Watch = Callable[[Progress], None]


def nobody(_: Progress) -> None:
    """Nobody watches."""


class Killed(BaseException):
    """A process that ends here."""


class World:
    """A requirement for a bundle, a key that it pins, a store."""

    def __init__(self, directory: Path, bundle: Path) -> None:
        self.bundle, self.store = bundle, directory / "store"
        self.key = directory / "key"
        made = new_key(self.key)
        described = directory / "launch.json"
        described.write_bytes(encode(launch("cuda", start=SeeingExamination)))
        issued = issue(
            "activation.silu_and_mul",
            bundle,
            "h200-decode",
            described,
            (f"me={made.public.removeprefix('ed25519:')}",),
        )
        self.requirement = directory / "requirement.json"
        self.requirement.write_bytes(issued.data)
        self.issued = issued

    def observe(self, start: type[SeeingExamination] | None = None, **more: object):  # type: ignore[no-untyped-def]
        return observe(
            self.requirement,
            self.bundle,
            self.store,
            self.key,
            Options(),
            nobody,
            start=start or SeeingExamination,
            **more,  # type: ignore[arg-type]
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, TWO)


def that(judge: Callable[[VariantRequest], object]) -> type[SeeingExamination]:
    """An examination with another judge."""

    class Judged(SeeingExamination):
        def __init__(self, settings: RunSettings, watch: Watch) -> None:
            super().__init__(settings, watch, judge)  # type: ignore[arg-type]

    return Judged


# --- observe ---------------------------------------------------------------------------------


def test_every_required_case_has_one_observation_under_the_requirement(world: World) -> None:
    observed = world.observe()
    cases = {case.case for variant in world.issued.requirement.variants for case in variant.cases}
    with DirectoryStore.open(world.store) as store:
        rows = [decode(store.get(digest), Observation) for digest in observed.observations]
    assert {row.case for row in rows} == cases
    assert len(rows) == len(cases)
    assert {row.requirement for row in rows} == {world.issued.digest}
    assert {row.run for row in rows} == {observed.run}
    assert {row.nonce for row in rows} == {world.issued.requirement.nonce}
    assert all(row.backend == "cuda" and row.probes == ("growth", "perturb") for row in rows)


def test_a_second_call_examines_nothing_and_names_the_same_delivery(world: World) -> None:
    first = world.observe()
    again = world.observe(that(lambda _: pytest.fail("it was examined again")))
    assert again.delivery == first.delivery
    assert again.outcomes == ()
    assert len(again.resumed) == 2


def test_a_run_that_was_killed_goes_on_with_the_next_variant(world: World) -> None:
    seen: list[str] = []

    def killed_at_the_second(request: VariantRequest) -> None:
        seen.append(request.variant)
        if len(seen) == 2:
            raise Killed

    class Dying(SeeingExamination):
        def __init__(self, settings: RunSettings, watch: Watch) -> None:
            super().__init__(settings, watch, before=killed_at_the_second)

    with pytest.raises(Killed):
        world.observe(Dying)
    observed = world.observe()
    assert observed.resumed == (f"activation.silu_and_mul variant={seen[0]}",)
    assert [outcome.variant for outcome in observed.outcomes] == [seen[1]]


def test_what_was_seen_cannot_be_drawn_anew(world: World) -> None:
    failed = world.observe(that(lambda _: "fail"))
    again = world.observe()
    assert again.observations == failed.observations


def test_a_lost_examination_is_written_as_incomplete_rows(world: World) -> None:
    observed = world.observe(that(lambda _: InfrastructureError("the grader was lost")))
    with DirectoryStore.open(world.store) as store:
        rows = [decode(store.get(digest), Observation) for digest in observed.observations]
    assert rows and all(not row.complete for row in rows)
    assert {row.infrastructure for row in rows} == {"the grader was lost"}
    assert {row.failure for row in rows} == {"none"}


def test_another_machine_is_refused_by_the_field_that_differs(world: World) -> None:
    class Other(SeeingExamination):
        torch = "2.12.0"

    with pytest.raises(InputError, match=r"launch, torch: expected '2\.11\.0'.*got '2\.12\.0'"):
        world.observe(Other)
    assert not list((world.store / "pointers").glob("*/*"))


def test_another_bundle_is_refused(world: World) -> None:
    world.bundle = SILU
    with pytest.raises(InputError, match="expected the bundle"):
        world.observe()


def test_a_key_that_is_not_pinned_is_refused_before_anything_runs(
    world: World, tmp_path: Path
) -> None:
    world.key = tmp_path / "other"
    new_key(world.key)
    with pytest.raises(InputError, match="expected a pinned key"):
        world.observe(that(lambda _: pytest.fail("it was examined")))
    assert not world.store.exists()


def test_another_contract_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cacheon.workflows.observe.contract_digest", lambda slot: "0" * 64)
    with pytest.raises(InputError, match=r"contract of activation\.silu_and_mul"):
        world.observe()


def test_a_requirement_that_is_none_is_refused(world: World) -> None:
    world.requirement.write_bytes(b'{"schema":"cacheon/requirement/1"}')
    with pytest.raises(InputError, match="not-a-record"):
        world.observe()


# --- qualify ---------------------------------------------------------------------------------


def decided(tmp_path: Path, *bundles: Path, start: type[SeeingExamination] = SeeingExamination):  # type: ignore[no-untyped-def]
    return qualify(bundles, "h200-decode", tmp_path / "store", Options(), nobody, start=start)


def test_what_passes_everywhere_is_a_pass_that_anyone_recomputes(tmp_path: Path) -> None:
    run = decided(tmp_path, SILU, TWO)
    assert run.exit_code == 0
    with DirectoryStore.open(tmp_path / "store") as store:
        for bundle in run.bundles:
            assert bundle.grade is not None and bundle.grade.decision == "PASS"
            assert grade(store, bundle.requirement) == bundle.grade


@pytest.mark.parametrize(
    ("said", "decision", "code", "exit_code"),
    [
        ("fail", "FAIL", "failed-replay", 1),
        (InfrastructureError("no memory"), "NO_DECISION", "incomplete", 3),
    ],
)
def test_a_failure_fails_and_infrastructure_decides_nothing(
    tmp_path: Path, said: object, decision: str, code: str, exit_code: int
) -> None:
    run = decided(tmp_path, SILU, start=that(lambda _: said))
    made = run.bundles[0].grade
    assert made is not None
    assert (made.decision, made.reasons[0].code, run.exit_code) == (decision, code, exit_code)


def test_an_answer_that_nobody_compared_is_not_a_wrong_one(tmp_path: Path) -> None:
    class CutOff(SeeingExamination):
        def _walked(self, row: CaseRow) -> CaseRow:
            order = OrderResult(order="descending", replays_completed=4, replays_passed=3)
            return msgspec.structs.replace(
                row, status="incomplete", orders=(order,), infrastructure="no memory"
            )

    run = decided(tmp_path, SILU, start=CutOff)
    made = run.bundles[0].grade
    assert made is not None
    assert (made.decision, made.reasons[0].code) == ("NO_DECISION", "incomplete")


def test_a_rehearsal_is_not_taken_in(tmp_path: Path) -> None:
    class Rehearsing(SeeingExamination):
        def examine(self, request: VariantRequest, *, last: bool = False):  # type: ignore[no-untyped-def]
            outcome = super().examine(request, last=last)
            return msgspec.structs.replace(outcome, backend="rehearsal")

    run = decided(tmp_path, SILU, start=Rehearsing)
    assert "rehearsal" in run.bundles[0].refused
    made = run.bundles[0].grade
    assert made is not None and made.decision == "NO_DECISION"


def test_an_arena_older_than_the_store_remembers_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    with DirectoryStore.open(tmp_path / "store", create=True) as store:
        raise_minimum(store, "h200-decode", 999)
    run = decided(tmp_path, SILU, start=that(lambda _: pytest.fail("it was examined")))
    assert "policy-older" in run.bundles[0].error
    assert (run.bundles[0].grade, run.exit_code) == (None, 2)


def test_a_minimum_that_rises_during_the_examination_counts(tmp_path: Path) -> None:
    def rise(_: VariantRequest) -> None:
        with DirectoryStore.open(tmp_path / "store") as store:
            raise_minimum(store, "h200-decode", 999)

    class Rising(SeeingExamination):
        def __init__(self, settings: RunSettings, watch: Watch) -> None:
            super().__init__(settings, watch, before=rise)

    run = decided(tmp_path, SILU, start=Rising)
    made = run.bundles[0].grade
    assert "policy-older" in run.bundles[0].refused
    assert made is not None and made.decision == "NO_DECISION"
    assert run.exit_code == 3


def test_one_unusable_bundle_stops_no_other(tmp_path: Path) -> None:
    run = decided(tmp_path, tmp_path / "nowhere", SILU)
    assert run.bundles[0].error
    assert run.bundles[0].grade is None
    assert run.bundles[1].grade is not None and run.bundles[1].grade.decision == "PASS"
    assert run.exit_code == 2


def test_the_launch_is_the_examination_that_runs() -> None:
    made = launch("cuda", start=SeeingExamination)
    assert isinstance(made, Launch)
    assert made.torch == SeeingExamination.torch


def test_a_key_of_a_file_signs(tmp_path: Path) -> None:
    path = tmp_path / "key"
    new_key(path)
    run = qualify(
        [good_example("norm.rmsnorm") or SILU],
        "h200-decode",
        tmp_path / "store",
        Options(),
        nobody,
        key=path,
        start=SeeingExamination,
    )
    assert run.key == Key.load(path).public.removeprefix("ed25519:")
    assert run.exit_code == 0


def test_a_bundle_is_copied_just_before_it_is_examined(tmp_path: Path) -> None:
    """No candidate finds the private copy of one that is examined after it."""
    copies: list[set[str]] = []

    def look(request: VariantRequest) -> None:
        above = Path(request.candidate.root).parent
        copies.append({path.name for path in above.iterdir()})

    class Looking(SeeingExamination):
        def __init__(self, settings: RunSettings, watch: Watch) -> None:
            super().__init__(settings, watch, before=look)

    verify([SILU, SILU], Options(device="cuda"), nobody, start=Looking)
    first, second = copies
    assert (len(first), len(second)) == (1, 2) and first < second
    assert all(len(name) == 16 for name in second), "a name that can be guessed"
