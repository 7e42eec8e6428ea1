"""What a row says of a barrier in which eager calls met."""

import pytest
from tests.engine.ranks.test_group import one_case

from cacheon.engine.grader.book import Page
from cacheon.engine.outcome import ORDERS, Finding, Place
from cacheon.engine.protocol import Where

BARRIER = Where(file="k.py", line=4, function="f", source="meet(group)")
READ = Where(file="k.py", line=6, function="f", source="x.item()")


def page(*, captured: int) -> Page:
    (case,) = one_case()
    made = Page(case, 2)
    for number, order in enumerate(ORDERS):
        made.tally(order).captured = number < captured
    return made


def test_what_a_capture_leaves_out_is_said_once_for_all_ranks() -> None:
    one = page(captured=2)
    one.met([BARRIER, BARRIER])
    one.met([BARRIER])
    one.waited([READ])
    assert one.row().hints == (
        "k.py:4 `meet(group)`: an eager call waits on the host in a barrier here, which the "
        "capture leaves out",
    )


@pytest.mark.parametrize("captured", [0, 1])
def test_where_none_was_made_a_capture_would_forbid_it(captured: int) -> None:
    one = page(captured=captured)
    # Of a barrier on a GPU torch warns too.
    one.waited([READ, BARRIER])
    one.met([BARRIER])
    hints = one.row().hints
    assert [hint.rpartition(" ")[2] for hint in hints] == ["(CG101)", "(CG105)"]
    assert "waits on the host in a barrier here, which a capture forbids" in hints[1]


def test_a_line_that_a_finding_names_needs_no_hint() -> None:
    one = page(captured=0)
    one.met([BARRIER])
    place = Place(file="k.py", line=4, function="f", source="meet(group)")
    one.findings.append(Finding(rule="CG105", stage="capture", message="", place=place))
    assert one.row().hints == ()
