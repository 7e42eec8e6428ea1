"""Reports: the words of the specification, and hostile text made harmless in all of them."""

import io
import json
import os
import re
from xml.etree import ElementTree

import msgspec
import pytest

from cacheon.engine.outcome import (
    BundleOutcome,
    CaseRow,
    Finding,
    OrderName,
    OrderResult,
    Place,
    RunOutcome,
    VariantOutcome,
)
from cacheon.report.document import RUN, document
from cacheon.report.junit import junit
from cacheon.report.terminal import draw, wants_colour
from cacheon.report.text import headline, run_lines
from cacheon.scan.findings import ScanFinding

HOSTILE = "\x1b[2J\x00\r\nFORGED [PASS] <b>&'\" [red]x[/red] \u202e\ud800"


def row(**changes: object) -> CaseRow:
    plain = CaseRow(
        label="num_tokens=4096 intermediate_dim=4096",
        descriptor={"num_tokens": 4096},
        origin="catalogue",
        applicable=True,
        status="ok",
        max_abs=(0.0078125).hex(),
        orders=(done("descending", 8, 256), done("ascending", 8, 256)),
    )
    return msgspec.structs.replace(plain, **changes)


def done(order: OrderName, replays: int, soak: int) -> OrderResult:
    return OrderResult(
        order=order,
        replays_completed=replays,
        replays_passed=replays,
        soak_completed=soak,
        soak_passed=soak,
    )


def failing(message: str = "50.0 % of out still poisoned", place: Place | None = None) -> CaseRow:
    return row(
        status="fail",
        failure="replay",
        stage="replay",
        findings=(Finding(rule="CG203", stage="replay", message=message, place=place),),
    )


def variant(**changes: object) -> VariantOutcome:
    plain = VariantOutcome(
        slot="activation.silu_and_mul",
        variant="default",
        dtype="bfloat16",
        backend="cuda",
        isolation="process",
        word="PASS",
        graph="verified",
        graph_replays=8,
        soak_replays=256,
        entry="silu_and_mul",
        source="kernels/k.py",
        rows=tuple(row() for _ in range(5)),
    )
    return msgspec.structs.replace(plain, **changes)


def run_of(*variants: VariantOutcome, **bundle: object) -> RunOutcome:
    plain = BundleOutcome(path="b", bundle_id="b", variants=variants)
    return RunOutcome(
        seed=7,
        device="cuda",
        dtype="bfloat16",
        environment={"device": "NVIDIA H200"},
        bundles=(msgspec.structs.replace(plain, **bundle),),
        exit_code=0,
    )


def text(run: RunOutcome, verbose: bool = False) -> str:
    stream = io.StringIO()
    draw(run_lines(run, verbose), stream)
    return stream.getvalue()


def test_the_headline_is_the_specification_s() -> None:
    assert text(run_of(variant())).splitlines()[:2] == [
        "[PASS] activation.silu_and_mul variant=default dtype=bfloat16 graph=verified "
        "graph_replays=8 coverage=5/5 n/a=0",
        "  ok   num_tokens=4096 intermediate_dim=4096  max_abs=7.8e-03  replays=8+256",
    ]


def test_a_row_says_what_was_replayed_and_not_what_was_asked() -> None:
    fewer = row(orders=(done("descending", 8, 256), done("ascending", 4, 2)))
    nothing = row(orders=(done("descending", 0, 0),), notes=("larger", "needs CUDA: pinned memory"))
    outcome = variant(rows=(fewer, nothing, row(orders=())))
    assert [line.partition("max_abs=7.8e-03")[2] for line in text(run_of(outcome)).splitlines()][
        1:4
    ] == ["  replays=4+2", "  replays=0: needs CUDA: pinned memory", "  replays=0"]
    unasked = variant(graph="not-required", rows=(nothing,))
    assert "replays" not in text(run_of(unasked))


def test_a_hint_is_said_once_below_what_failed() -> None:
    hinted = msgspec.structs.replace(failing(), hints=("k.py:9 `x.item()`: waits",))
    outcome = variant(word="NUMERICAL_PASS", rows=(hinted, hinted))
    assert text(run_of(outcome)).count("       hint: k.py:9 `x.item()`: waits\n") == 1
    assert junit(run_of(outcome)).count(b"hint: k.py:9") == 2
    unclear = row(status="incomplete", infrastructure="lost", hints=hinted.hints)
    assert "hint: k.py:9" in text(run_of(variant(rows=(unclear,))))
    unasked = row(hints=hinted.hints)
    assert "hint" not in text(run_of(variant(graph="not-required", rows=(unasked,))))


def test_what_is_out_of_the_ordinary_stands_in_the_headline() -> None:
    outcome = variant(
        graph="NOT_VERIFIED",
        rehearsal="passed",
        domain="partial",
        isolation="inline",
        rows=(row(), row(status="not_applicable", applicable=False), row(status="incomplete")),
    )
    assert headline(outcome).split()[3:] == [
        "graph=NOT_VERIFIED",
        "rehearsal=passed",
        "coverage=1/2",
        "n/a=1",
        "domain=partial",
        "isolation=inline",
    ]


def test_cases_that_were_not_rehearsed_are_counted_in_the_headline() -> None:
    rows = (row(), row(orders=(done("descending", 0, 0),)), row(status="incomplete"))
    outcome = variant(graph="NOT_VERIFIED", rehearsal="passed", rows=rows)
    assert headline(outcome).endswith(" coverage=2/3 rehearsed=1/2 n/a=0")
    assert "rehearsed" not in headline(msgspec.structs.replace(outcome, rehearsal="failed"))
    assert "rehearsed" not in headline(variant(rows=rows))


def test_a_failure_names_stage_rule_place_and_remedy_once() -> None:
    place = Place(file="kernels/k.py", line=9, function="f", source="out[::2] = x")
    printed = text(run_of(variant(word="NUMERICAL_PASS", rows=(failing(place=place), failing()))))
    assert re.search(r"^  FAIL .*  replay: 50.0 % of out .*  → CG203 partial write", printed, re.M)
    assert "       kernels/k.py:9  in f: out[::2] = x\n" in printed
    assert "       kernels/k.py  entry silu_and_mul\n" in printed
    assert printed.count("`cacheon explain CG203`") == 1


def test_a_class_that_is_not_the_stage_and_company_are_said() -> None:
    finding = Finding(rule="CG801", stage="load", message="m", order="ascending")
    failed = row(status="fail", failure="eager", findings=(finding,), company="company")
    assert "load, class eager (ascending), only beside other cases: m" in text(
        run_of(variant(rows=(failed,)))
    )


def test_a_failure_without_a_finding_is_shown_all_the_same() -> None:
    failed = row(status="fail", failure="replay", stage="soak")
    assert "  FAIL num_tokens" in text(run_of(variant(rows=(failed,))))
    assert b"class replay" in junit(run_of(variant(rows=(failed,))))


def test_details_only_when_asked() -> None:
    order = OrderResult(order="ascending", stages=("load", "eager"), replays_completed=8)
    detailed = row(orders=(order,), nodes={"kernel": 3}, notes=("a note",))
    run = run_of(variant(rows=(detailed,)))
    assert "ascending: load eager; replays 0 of 8" in text(run, verbose=True)
    assert "3 kernel" in text(run, verbose=True)
    assert "3 kernel" not in text(run)


def hostile_run() -> RunOutcome:
    place = Place(file=HOSTILE, line=9, function=HOSTILE, source=HOSTILE)
    bad = msgspec.structs.replace(
        failing(HOSTILE, place), label=HOSTILE, notes=(HOSTILE,), hints=(HOSTILE,)
    )
    unclear = row(status="incomplete", infrastructure=HOSTILE, nodes={HOSTILE: 1})
    outcome = variant(
        variant=HOSTILE, entry=HOSTILE, source=HOSTILE, rows=(bad, unclear), notes=(HOSTILE,)
    )
    return run_of(
        outcome,
        path=HOSTILE,
        bundle_id=HOSTILE,
        warnings=(HOSTILE,),
        not_selected=(HOSTILE,),
        error=HOSTILE,
    )


@pytest.mark.parametrize("verbose", [False, True])
def test_hostile_text_forges_no_line_and_moves_no_cursor(verbose: bool) -> None:
    printed = text(hostile_run(), verbose)
    assert all(line.isprintable() for line in printed.split("\n"))
    assert not any(line.startswith("FORGED") for line in printed.split("\n"))
    printed.encode()


def test_markup_in_hostile_text_is_text_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    assert wants_colour(stream)
    draw(run_lines(hostile_run(), True), stream)
    assert "[red]x[/red]" in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(stream)


def test_json_is_the_outcome_under_a_schema() -> None:
    run = run_of(variant())
    body = json.loads(document(RUN, run))
    assert body.pop("schema") == "cacheon.verify.v1"
    assert msgspec.convert(body, RunOutcome) == run


def test_what_moves_a_cursor_is_an_escape_in_json() -> None:
    """C1 controls, DEL and marks of direction may stand in JSON as they are, and a terminal
    obeys them."""
    evil = '\x1b[2J\x9b31m\x7f\u202e\u2066\u2028\ufffe\U000e0001 é\U0001f600"'
    shown = document(RUN, {"said": evil, evil: [evil]})
    assert json.loads(shown) == {"schema": RUN, "said": evil, evil: [evil]}
    text = shown.decode()
    assert all(character.isprintable() for line in text.splitlines() for character in line)
    assert "é\U0001f600" in text
    assert text.endswith("}\n")


def test_a_name_that_is_no_utf8_is_said_all_the_same() -> None:
    body = {"reports": ({"path": os.fsdecode(b"a\xff"), "lines": 3},), "é": None}
    said = json.loads(document(RUN, body))
    assert said == {"schema": RUN, "reports": [{"path": "a\\udcff", "lines": 3}], "é": None}


def test_junit_has_one_case_a_row() -> None:
    outcome = variant(
        rows=(
            row(),
            failing(),
            row(status="incomplete", infrastructure="lost"),
            row(status="not_applicable", applicable=False),
        )
    )
    root = ElementTree.fromstring(junit(run_of(outcome, error="the grader was lost")))
    suite, error = root
    assert [len(case) for case in suite] == [0, 1, 1, 1]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    assert error.get("errors") == "1"


def test_junit_of_hostile_text_is_xml() -> None:
    root = ElementTree.fromstring(junit(hostile_run()))
    assert "FORGED" in ElementTree.tostring(root, encoding="unicode")


def test_advice_of_the_source_stands_once_and_hostile_material_always() -> None:
    def scanned(rule: str, line: int) -> ScanFinding:
        return ScanFinding(
            rule=rule,
            file="k.py",
            line=line,
            column=1,
            function="f",
            source="x",
            message=f"said by {rule}",
            severity="error",
            confidence="high",
        )

    named = Place(file="k.py", line=3, function="f", source="x")
    found = (scanned("CG203", 3), scanned("CG203", 4), scanned("CG205", 3), scanned("CG905", 3))
    shown = text(run_of(variant(rows=(failing(place=named),)), scanned=found))
    assert "scan k.py:3 CG203" not in shown, "the row says it"
    assert "scan k.py:4 CG203 said by CG203" in shown
    assert "scan k.py:3 CG205 said by CG205" in shown
    assert "FAIL k.py:3 CG905 said by CG905" in shown
    assert "scan k.py:3 CG203" in text(run_of(variant(rows=(failing(),)), scanned=found))
