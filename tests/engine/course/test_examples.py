"""The shipped examples: good ones pass, each broken one fails as its table says."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import EXAMPLES
from tests.engine.course.runs import (
    brief,
    failures,
    left_behind,
    passed,
    qualify,
    rows,
    verify,
)

from cacheon.contract.slots import SLOTS

EXPECTED: dict[str, dict[str, Any]] = json.loads((EXAMPLES / "expect.json").read_text())
SHIPPED = sorted(path.name for path in EXAMPLES.glob("*/*") if path.is_dir())


def of_group(group: str, *, ranks: bool) -> list[str]:
    """Names of good or broken examples of collectives, or of what one process calls alone."""
    return sorted(
        name
        for name, row in EXPECTED.items()
        if row["group"] == group and (SLOTS[row["slot"]].kind == "collective") == ranks
    )


GOOD, BROKEN = of_group("good", ranks=False), of_group("broken", ranks=False)
"""Those of collectives stand in `tests/engine/ranks`."""
PARTS = 4
"""Runs that qualify the examples between them, so that they can be made side by side."""
QUICK = ("--timeout", "4", "--compile-timeout", "20")
"""Deadlines for bundles that hang."""
SLOW = ("triton_decode", "--case", "num_q_heads=8")
"""Interpreted, a launch for sixteen heads takes seconds: three of its four cases will do."""


def disagreements(name: str, bundle: dict[str, Any], device: str) -> list[str]:
    """What an outcome says otherwise than the table; empty where they agree."""
    wanted = EXPECTED[name][device]
    if wanted["verdict"] == "pass":
        return [] if passed(bundle, device) else [f"should pass: {brief(bundle)}"]
    if wanted["verdict"] in ("cannot-tell", "needs-cuda"):
        return [f"should not fail: {brief(bundle)}"] if failures(bundle) else []
    wrong = failures(bundle)
    if not wrong:
        return [f"should fail: {brief(bundle)}"]
    said = []
    for row in wrong:
        finding = row["findings"][0]
        line = finding["place"]["line"] if finding["place"] else None
        for key, got in (("stage", finding["stage"]), ("rule", finding["rule"])):
            if wanted.get(key) and got not in str(wanted[key]).split("|"):
                said.append(f"{key} {got}, expected {wanted[key]}: {brief(bundle)}")
        if wanted.get("line") is not None and line != wanted["line"]:
            said.append(f"line {line}, expected {wanted['line']}: {brief(bundle)}")
    return said[:1]


def test_the_table_names_every_example() -> None:
    assert sorted(EXPECTED) == SHIPPED
    assert len(GOOD) >= 9
    assert len(BROKEN) >= 16


def test_good_examples_pass_on_a_cpu() -> None:
    others = [name for name in GOOD if name != SLOW[0]]
    document = verify(*(EXAMPLES / "good" / name for name in others), device="cpu")
    wrong = [brief(bundle) for bundle in document["bundles"] if not passed(bundle, "cpu")]
    assert not wrong, "\n".join(wrong)
    assert document["exit_code"] == 0


def test_a_slow_good_example_passes_on_a_cpu() -> None:
    name, *arguments = SLOW
    (bundle,) = verify(EXAMPLES / "good" / name, device="cpu", arguments=arguments)["bundles"]
    assert passed(bundle, "cpu"), brief(bundle)
    assert len(rows(bundle)) == 3


def test_broken_examples_fail_on_a_cpu_as_the_table_says() -> None:
    document = verify(
        *(EXAMPLES / "broken" / name for name in BROKEN),
        device="cpu",
        arguments=QUICK,
        mark="broken-cpu",
    )
    wrong = []
    for name, bundle in zip(BROKEN, document["bundles"], strict=True):
        wrong += disagreements(name, bundle, "cpu")
    assert not wrong, "\n".join(wrong)
    assert not left_behind("broken-cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("part", range(PARTS))
def test_every_example_is_qualified_on_a_gpu_as_the_table_says(
    part: int, records_directory: Path
) -> None:
    """One run decides on a part of them; its store is the evidence that is kept."""
    paths = [EXAMPLES / "good" / name for name in GOOD]
    paths += [EXAMPLES / "broken" / name for name in BROKEN]
    document, wrong = qualified(
        *paths[part::PARTS],
        arena="h200-decode",
        store=records_directory / f"evidence-{part}",
        arguments=QUICK,
        mark=f"qualify-cuda-{part}",
    )
    body = json.dumps(document, indent=1) + "\n"
    (records_directory / f"qualification-{part}.json").write_text(body)
    assert not wrong, "\n".join(wrong)
    assert not left_behind(f"qualify-cuda-{part}")


def qualified(
    *paths: Path, arena: str, store: Path, arguments: tuple[str, ...], mark: str
) -> tuple[dict[str, Any], list[str]]:
    """The document of one `cacheon qualify`, and what it says otherwise than the table."""
    document = qualify(*paths, arena=arena, store=store, arguments=arguments, mark=mark)
    wrong = []
    for path, bundle in zip(paths, document["bundles"], strict=True):
        seen = {**bundle, "variants": bundle["observed"]["outcomes"] if bundle["observed"] else []}
        wrong += disagreements(path.name, seen, "cuda")
        wrong += undecided(path.name, bundle)
    return document, wrong


def undecided(name: str, bundle: dict[str, Any]) -> list[str]:
    """What a decision says otherwise than the table; empty where they agree."""
    grade = bundle["grade"]
    if grade is None or bundle["refused"]:
        return [f"{name}: {bundle['error'] or bundle['refused']}"]
    leading = grade["reasons"][0]["code"]
    wanted = EXPECTED[name]["cuda"]
    if wanted["verdict"] == "pass":
        right = (grade["decision"], leading) == ("PASS", "every-case-shown")
    else:
        codes = {f"failed-{each}" for each in wanted["class"].split("|")}
        right = grade["decision"] == "FAIL" and leading in codes
    return [] if right else [f"{name}: {grade['decision']} {leading}"]
