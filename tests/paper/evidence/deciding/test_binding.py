"""What is bound, what is set aside and by which code."""

import msgspec
import pytest
from tests.paper.evidence.deciding.world import (
    CASES,
    FIRST,
    KEYS,
    RUNS,
    WANTED,
    a_delivery,
    a_row,
    bound,
    digest_of,
    fresh,
    required_case,
    rows_of,
)

from cacheon.evidence.binding import Committed, Delivered, Row, bind
from cacheon.evidence.delivery import Delivery
from cacheon.evidence.grade import SetAside
from cacheon.evidence.observation import Observation
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.veto import decide
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256

OTHER, LOWEST, HIGHEST = sha256(b"other"), "0" * 64, "f" * 64
CHANGED = {
    "other-requirement": {"requirement": OTHER},
    "other-nonce": {"nonce": OTHER},
    "other-run": {"run": OTHER},
    "other-launch": {"launch": OTHER},
    "other-bundle": {"bundle": OTHER},
    "not-required": {"case": OTHER},
    "other-case": {"descriptor": CASES[1].descriptor},
    "rehearsal": {"backend": "rehearsal"},
    "isolation": {"isolation": "inline"},
}


def test_rows_that_fit_are_bound_sorted_and_nothing_is_set_aside() -> None:
    rows = rows_of()
    got = bound(a_delivery(rows))
    assert got.set_aside == ()
    (delivered,) = got.deliveries
    assert delivered == a_delivery(rows)._replace(rows=delivered.rows)
    assert [row.digest for row in delivered.rows] == sorted(digest_of(row) for row in rows)
    assert {row.digest: row.observation for row in delivered.rows} == {
        digest_of(row): row for row in rows
    }


@pytest.mark.parametrize("code", CHANGED)
def test_a_row_of_something_else_is_set_aside(code: str) -> None:
    row = msgspec.structs.replace(a_row(FIRST), **CHANGED[code])
    got = bound(a_delivery([row, a_row(CASES[1])]))
    assert got.set_aside == (SetAside(what=digest_of(row), code=code),)
    assert [each.observation.case for each in got.deliveries[0].rows] == [CASES[1].case]


@pytest.mark.parametrize("other", [LOWEST, HIGHEST])
@pytest.mark.parametrize("field", ["requirement", "nonce", "run", "launch", "bundle"])
def test_another_digest_is_another_whichever_is_larger(field: str, other: str) -> None:
    row = msgspec.structs.replace(a_row(FIRST), **{field: other})
    assert bound(a_delivery([row])).set_aside == (
        SetAside(what=digest_of(row), code=f"other-{field}"),
    )
    if field in ("requirement", "nonce", "launch"):
        offered = of_delivery(**{field: other})
        assert bound(offered).set_aside == (SetAside(what=offered.digest, code=f"other-{field}"),)


def test_what_is_equal_binds_whatever_object_it_is() -> None:
    # Counts beyond those of which there is one object only.
    asked = msgspec.structs.replace(WANTED, replays=1000, soak=100_000)
    made = a_delivery(rows_of(asked), asked)
    read = made._replace(
        delivery=decode(encode(made.delivery), Delivery),
        rows=tuple(
            Row(row.digest, decode(encode(row.observation), Observation)) for row in made.rows
        ),
    )
    got = bind(decode(encode(asked), Requirement), digest_of(asked), [read])
    assert got == bound(made, requirement=asked) and len(got.deliveries[0].rows) == len(CASES)
    assert decide(decode(encode(asked), Requirement), got).decision == "PASS"


def test_words_bind_whatever_object_they_are() -> None:
    row = msgspec.structs.replace(a_row(FIRST), backend=fresh("cuda"), isolation=fresh("process"))
    assert bound(a_delivery([row])).set_aside == ()


def test_more_isolation_than_was_asked_for_is_another_too() -> None:
    inline = msgspec.structs.replace(WANTED, isolation="inline")
    row = msgspec.structs.replace(a_row(FIRST, inline), isolation="process")
    assert bound(a_delivery([row], inline), requirement=inline).set_aside == (
        SetAside(what=digest_of(row), code="isolation"),
    )


@pytest.mark.parametrize("code", CHANGED)
def test_the_first_mismatch_names_it(code: str) -> None:
    codes = list(CHANGED)
    changes = [CHANGED[name] for name in reversed(codes[codes.index(code) :])]
    row = a_row(FIRST)
    for change in changes:
        row = msgspec.structs.replace(row, **change)
    assert [aside.code for aside in bound(a_delivery([row])).set_aside] == [code]


def test_a_descriptor_is_held_against_the_required_one() -> None:
    # The pair fits itself, and is of a case that nobody asked for.
    foreign = required_case("norm.rmsnorm", "default", 7)
    assert bound(a_delivery([a_row(foreign)])).set_aside[0].code == "not-required"


def of_delivery(**changes: str) -> Delivered:
    made = a_delivery(rows_of())
    return made._replace(delivery=msgspec.structs.replace(made.delivery, **changes))


@pytest.mark.parametrize(
    ("offered", "code"),
    [
        (of_delivery(observer=KEYS[3]), "key-not-pinned"),
        (of_delivery(requirement=OTHER), "other-requirement"),
        (of_delivery(nonce=OTHER), "other-nonce"),
        (of_delivery(launch=OTHER), "other-launch"),
    ],
)
def test_a_delivery_of_something_else_is_set_aside_whole(offered: Delivered, code: str) -> None:
    got = bind(WANTED, digest_of(WANTED), [offered])
    assert got.deliveries == ()
    assert got.set_aside == (SetAside(what=offered.digest, code=code),)


def test_what_one_delivery_cannot_bind_another_can() -> None:
    # An unpinned key that lists a pinned one's rows takes nothing from them.
    good, bad = a_delivery(rows_of()), a_delivery(rows_of(), key=KEYS[3])
    assert bound(bad, good).deliveries == bound(good).deliveries


def test_the_same_bytes_twice_are_one() -> None:
    row = a_row(FIRST)
    made = a_delivery([row])
    doubled = made._replace(rows=made.rows * 2, missing=(OTHER, OTHER))
    (delivered,) = bound(doubled, doubled).deliveries
    assert delivered.rows == (Row(digest_of(row), row),)
    assert delivered.missing == (OTHER,)


def test_order_changes_nothing() -> None:
    rows = rows_of()
    lost = [sha256(b"1"), sha256(b"2"), sha256(b"3")]
    aside: list[Observation] = [
        msgspec.structs.replace(a_row(FIRST), nonce=sha256(bytes([number]))) for number in range(5)
    ]
    one = a_delivery([*rows, *aside], lost=lost)
    two = a_delivery(rows_of(run=RUNS[1]), key=KEYS[1], run=RUNS[1])
    turned = one._replace(rows=one.rows[::-1], missing=one.missing[::-1])
    got = bound(one, two)
    assert got == bound(two, turned)
    assert [each.delivery.observer for each in got.deliveries] == sorted([KEYS[0], KEYS[1]])
    assert [each.what for each in got.set_aside] == sorted(map(digest_of, aside))


def test_what_is_lost_is_handed_on_sorted_once() -> None:
    one, two = Committed(KEYS[0], sha256(b"1")), Committed(KEYS[1], "")
    assert bound(lost=[two, one, two]).lost == tuple(sorted([one, two]))
    assert bound().lost == ()


def test_two_deliveries_of_one_key_are_both_looked_at() -> None:
    one, two = a_delivery(rows_of()), a_delivery(rows_of(run=RUNS[1]), run=RUNS[1])
    assert len(bound(one, two).deliveries) == 2
