"""What the scan finds before a bundle is loaded counts in evidence as it does in `verify`."""

import shutil
from pathlib import Path

import msgspec
import pytest
from tests.workflows.seeing import SeeingExamination
from tests.workflows.test_qualify import SILU, TWO, World, decided, nobody, that

from cacheon.engine.outcome import CaseRow, VariantOutcome
from cacheon.evidence.observation import Observation
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import decode
from cacheon.records.errors import InfrastructureError
from cacheon.report.results import Qualified
from cacheon.scan.findings import ScanFinding
from cacheon.workflows.hostility import with_hostility
from cacheon.workflows.options import Options
from cacheon.workflows.verify import verify

HOSTILE = ScanFinding(
    rule="CG906",
    file="kernels/k.py",
    line=3,
    column=1,
    function="",
    source="import socket",
    message="the network",
    severity="error",
    confidence="high",
)


def hostile(bundle: Path, into: Path, line: str = "import socket\n") -> Path:
    """A copy of a bundle, one of whose sources begins with a line more."""
    copy = shutil.copytree(bundle, into / "hostile")
    source = next(copy.rglob("*.py"))
    source.chmod(0o644)
    source.write_text(line + source.read_text())
    return copy


def rows_of(store: Path, digests: tuple[str, ...]) -> list[Observation]:
    with DirectoryStore.open(store) as kept:
        return [decode(kept.get(digest), Observation) for digest in digests]


def one(tmp_path: Path, bundle: Path, start: type[SeeingExamination] = SeeingExamination):  # type: ignore[no-untyped-def]
    run = decided(tmp_path, bundle, start=start)
    (made,) = run.bundles
    return run.exit_code, made


def reason(made: Qualified) -> tuple[str, str]:
    assert made.grade is not None
    return made.grade.decision, made.grade.reasons[0].code


def test_what_fails_verify_fails_qualify(tmp_path: Path) -> None:
    bundle = hostile(SILU, tmp_path)
    seen = verify([bundle], Options(device="cuda"), nobody, start=SeeingExamination)
    code, made = one(tmp_path, bundle)
    assert seen.exit_code == code == 1
    assert reason(made) == ("FAIL", "failed-eager")
    detail = made.grade.reasons[0].detail
    assert detail.startswith("CG906 at ") and ".py:1: " in detail


def test_the_rows_name_rule_class_stage_file_and_line(tmp_path: Path) -> None:
    world = World(tmp_path, hostile(TWO, tmp_path))
    observed = world.observe()
    rows = rows_of(world.store, observed.observations)
    applicable = [row for row in rows if row.applicable]
    # Those of both variants, whichever of their sources it stands in.
    assert len({row.descriptor.variant for row in applicable}) == 2
    for row in applicable:
        assert (row.failure, row.stage, row.complete) == ("eager", "load", True)
        first = row.findings[0]
        assert (first.rule, first.stage, first.line) == ("CG906", "load", 1)
        assert first.file.endswith(".py")
    for row in rows:
        assert row.applicable or (row.failure == "not_applicable" and not row.findings)
    assert {outcome.word for outcome in observed.outcomes} == {"FAIL"}


def test_a_comment_of_its_own_excuses_nothing(tmp_path: Path) -> None:
    line = "import socket  # cacheon: ignore[CG906] it is only a clock\n"
    assert reason(one(tmp_path, hostile(SILU, tmp_path, line))[1]) == ("FAIL", "failed-eager")


def test_a_row_that_failed_keeps_its_own_failure(tmp_path: Path) -> None:
    code, made = one(tmp_path, hostile(SILU, tmp_path), that(lambda _: "fail"))
    assert code == 1 and reason(made) == ("FAIL", "failed-replay")
    rows = rows_of(tmp_path / "store", made.observed.observations)
    assert {each.rule for row in rows for each in row.findings} == {"CG203"}


def test_a_row_that_was_cut_off_stays_incomplete(tmp_path: Path) -> None:
    lost = that(lambda _: InfrastructureError("no memory"))
    code, made = one(tmp_path, hostile(SILU, tmp_path), lost)
    assert code == 3 and reason(made) == ("NO_DECISION", "incomplete")


def test_advice_of_the_scan_changes_nothing(tmp_path: Path) -> None:
    line = "import torch; torch.cuda.synchronize()\n"
    bundle = hostile(SILU, tmp_path, line)
    seen = verify([bundle], Options(device="cuda"), nobody, start=SeeingExamination)
    assert not any(finding.hostile for finding in seen.bundles[0].scanned)
    assert reason(one(tmp_path, bundle)[1]) == ("PASS", "every-case-shown")


def outcome_of(*statuses: str) -> VariantOutcome:
    rows = tuple(
        CaseRow(
            label=str(number),
            descriptor={},
            origin="catalogue",
            applicable=status != "not_applicable",
            status=status,  # type: ignore[arg-type]
        )
        for number, status in enumerate(statuses)
    )
    return VariantOutcome(
        slot="activation.silu_and_mul",
        variant="",
        dtype="bfloat16",
        backend="cuda",
        isolation="process",
        word="PASS",
        graph="verified",
        rows=rows,
    )


@pytest.mark.parametrize("kept", ["fail", "incomplete", "not_applicable"])
def test_only_what_would_have_passed_is_changed(kept: str) -> None:
    before = outcome_of("ok", kept)
    after = with_hostility(before, (HOSTILE,), device="cuda", graph=True)
    assert after.word == "FAIL" and after.graph == "NOT_VERIFIED"
    assert after.rows[1] == before.rows[1]
    assert after.rows[0].findings[0].place is not None
    assert after.rows[0].findings[0].place.line == 3


def test_what_is_no_hostility_changes_nothing() -> None:
    before = outcome_of("ok")
    warned = msgspec.structs.replace(HOSTILE, severity="warning")
    other = msgspec.structs.replace(HOSTILE, rule="CG304")
    assert with_hostility(before, (warned, other), device="cuda", graph=True) is before
    assert with_hostility(before, (), device="cuda", graph=True) is before
