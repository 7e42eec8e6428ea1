"""What becomes of a case that asks for a device: when it is over, and when it is whole."""

from types import SimpleNamespace

from cacheon.engine.grader.book import Page

ORDERS = ("descending", "ascending")


def _page():
    return Page(SimpleNamespace(applicable=True))


def test_a_case_that_lacks_a_device_at_once_is_over():
    page = _page()
    page.restart("descending")
    page.needs_cuda = True
    assert page.settled
    assert page.complete(ORDERS, True)


def test_a_case_that_lacks_one_at_capture_is_still_checked_in_the_other_order():
    page = _page()
    page.restart("descending")
    page.tally("descending").passed("eager")
    page.needs_cuda = True
    assert not page.settled
    assert page.complete(ORDERS, True), "one order alone is not the whole course"
    page.restart("ascending")
    assert not page.settled, "the second order has only begun"
    page.tally("ascending").passed("eager")
    assert not page.complete(ORDERS, True)


def test_a_walk_that_starts_over_forgets_no_check():
    page = _page()
    page.restart("descending")
    page.tally("descending").passed("eager")
    page.needs_cuda = True
    page.restart("descending")
    assert not page.settled
