"""Everything is read again; what cannot be is set aside, lost or missing, and never raised."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import (
    DIGEST,
    PINNED,
    PUBLIC,
    SIGNERS,
    Box,
    a_store,
    name_of,
    pinned_rows,
    sealed,
    statement,
)
from tests.paper.evidence.deciding.world import RUNS, digest_of

from cacheon.evidence.binding import Committed
from cacheon.evidence.delivery import DELIVERY_TYPE
from cacheon.evidence.envelope import seal
from cacheon.evidence.grade import SetAside
from cacheon.evidence.pointers import DELIVERIES, committed, named
from cacheon.evidence.reopening import Reopened, open_delivery, reopen
from cacheon.evidence.store import DirectoryStore, StoreFailed
from cacheon.records.canonical import LIMIT, encode
from cacheon.records.digest import sha256
from cacheon.records.errors import RecordRefused

replace = msgspec.structs.replace
ROWS = pinned_rows()


def a_box(*more: bytes, rows: Any = ROWS) -> Box:
    """The requirement, rows, and further bytes."""
    box = Box(*rows)
    box.blobs.update({sha256(data): data for data in (encode(PINNED), *more)})
    return box


def reopened(box: Box, *envelopes: bytes) -> Reopened:
    offered = [Committed(PUBLIC[0], name_of(data)) for data in envelopes]
    return reopen(box, DIGEST, offered)


def codes(got: Reopened) -> list[tuple[str, str]]:
    return [(aside.what, aside.code) for aside in got.set_aside]


def test_what_is_whole_is_reopened_whole() -> None:
    data = sealed(statement(ROWS))
    got = reopened(a_box(data), data)
    assert got.requirement == PINNED and got.digest == DIGEST
    assert got.lost == got.set_aside == ()
    (delivered,) = got.delivered
    assert delivered.digest == name_of(data)
    assert delivered.delivery == statement(ROWS)
    assert delivered.missing == ()
    assert {row.digest: row.observation for row in delivered.rows} == {
        digest_of(row): row for row in ROWS
    }


def test_without_its_requirement_nothing_is_looked_at() -> None:
    data = sealed(statement(ROWS))
    box = a_box(data)
    del box.blobs[DIGEST]
    got = reopened(box, data)
    assert got == Reopened(DIGEST, None, (), (), got.set_aside)
    assert codes(got) == [(DIGEST, "missing")]
    box.blobs[DIGEST] = encode(ROWS[0])
    got = reopened(box, data)
    assert got.requirement is None and codes(got) == [(DIGEST, "not-a-record")]


def test_a_digest_that_is_none_is_the_caller_s_mistake() -> None:
    with pytest.raises(RecordRefused) as caught:
        reopen(a_box(), "../etc/passwd", [])
    assert caught.value.code == "not-a-digest"


def test_a_delivery_whose_bytes_cannot_be_had_is_lost() -> None:
    data = sealed(statement(ROWS))
    box = a_box()
    got = reopened(box, data)
    assert got.delivered == () and got.lost == (Committed(PUBLIC[0], name_of(data)),)
    assert codes(got) == [(name_of(data), "missing")]
    assert got.set_aside[0].detail == "expected a stored file, got none"


def test_a_pointer_that_cannot_be_read_is_a_lost_delivery() -> None:
    got = reopen(a_box(), DIGEST, [Committed(PUBLIC[1], "")])
    assert got.lost == (Committed(PUBLIC[1], ""),)
    assert codes(got) == [(PUBLIC[1], "pointer")]


FORGED = sealed(replace(statement(ROWS), observer=PUBLIC[1]), 0)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{}", "not-a-record"),
        (sealed(statement(ROWS)) + b" ", "not-canonical"),
        (encode(ROWS[0]), "not-a-record"),
        (seal(encode(statement(ROWS)), "text/plain", SIGNERS[:1]), "payload-type"),
        (seal(encode(ROWS[0]), DELIVERY_TYPE, SIGNERS[:1]), "not-a-record"),
        (seal(encode(statement(ROWS)), DELIVERY_TYPE, []), "signatures"),
        (sealed(statement(ROWS, signer=2)), "key-not-pinned"),
        (FORGED, "unsigned"),
    ],
)
def test_bytes_that_are_no_such_delivery_change_nothing(data: bytes, code: str) -> None:
    good = sealed(statement(ROWS))
    alone = reopened(a_box(good), good)
    box, others = a_box(data, good), [Committed(PUBLIC[0], name_of(good))]
    for observer in (PUBLIC[2], ""):
        got = reopen(box, DIGEST, [Committed(observer, name_of(data)), *others])
        assert codes(got) == [(name_of(data), code)]
        assert got.lost == () and got.delivered == alone.delivered
    # Under the name of a pinned key lay a delivery of that key.
    there = Committed(PUBLIC[1], name_of(data))
    got = reopen(box, DIGEST, [there, *others])
    assert codes(got) == [(name_of(data), code)]
    assert got.lost == (there,) and got.delivered == alone.delivered


def test_another_delivery_under_the_name_of_a_pinned_key_is_not_its_own() -> None:
    mine = sealed(statement(ROWS))
    elsewhere = sealed(replace(statement(ROWS, signer=1), requirement=name_of(b"")), 1)
    for other in (mine, elsewhere):
        there = Committed(PUBLIC[1], name_of(other))
        got = reopen(a_box(other), DIGEST, [there])
        assert got.lost == (there,) and [each.digest for each in got.delivered] == [there.digest]


def test_further_signatures_change_nothing() -> None:
    data = sealed(statement(ROWS), 2, 1, 0)
    assert open_delivery(data, PUBLIC[:1]) == statement(ROWS)


def test_a_pinned_key_under_which_anybody_can_sign_opens_nothing() -> None:
    weak = "01" + "00" * 31
    delivery = replace(statement(ROWS), observer=weak)
    with pytest.raises(RecordRefused) as caught:
        open_delivery(seal(encode(delivery), DELIVERY_TYPE, SIGNERS[:1]), [weak])
    assert caught.value.code == "public-key"


def changed(row: Any, **by: Any) -> bytes:
    return encode({**msgspec.to_builtins(row), **by})


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, "missing"),
        (changed(ROWS[0], passed=True), "not-a-record"),
        (changed(ROWS[0], schema="cacheon/observation/2"), "not-a-record"),
        (encode(ROWS[0]) + b"\n", "not-canonical"),
        (b"[" * 100, "too-deep"),
        (b" " * (LIMIT + 1), "too-large"),
        (encode(statement(ROWS)), "not-a-record"),
    ],
)
def test_an_observation_that_cannot_be_read_is_missing(data: bytes | None, code: str) -> None:
    name = sha256(data or b"nothing")
    delivery = replace(
        statement(ROWS), observations=tuple(sorted([*statement(ROWS).observations, name]))
    )
    envelope = sealed(delivery)
    box = a_box(envelope) if data is None else a_box(envelope, data)
    got = reopened(box, envelope)
    assert codes(got) == [(name, code)]
    assert got.delivered[0].missing == (name,) and len(got.delivered[0].rows) == len(ROWS)


def test_an_observation_is_read_once_however_often_it_is_listed() -> None:
    asked: list[str] = []

    class Counting(Box):
        def get(self, digest: str, limit: int | None = None) -> bytes:
            asked.append(digest)
            return super().get(digest, limit)

    one, two = sealed(statement(ROWS)), sealed(statement(ROWS, signer=1))
    box = Counting(*ROWS[1:])
    box.blobs.update(a_box(one, two, rows=()).blobs)
    got = reopened(box, one, two)
    assert len(asked) == len(set(asked)) == 3 + len(ROWS)
    assert [each.missing for each in got.delivered] == [(digest_of(ROWS[0]),)] * 2


def test_a_failing_machine_is_set_aside_too() -> None:
    class Failing(Box):
        def get(self, digest: str, limit: int | None = None) -> bytes:
            if digest == digest_of(ROWS[0]):
                raise StoreFailed(OSError(5, "Input/output error"), "/some/where")
            return super().get(digest, limit)

    data = sealed(statement(ROWS))
    box = Failing(*ROWS)
    box.blobs.update(a_box(data, rows=()).blobs)
    got = reopened(box, data)
    assert got.set_aside == (SetAside(what=digest_of(ROWS[0]), code="io"),)
    assert got.delivered[0].missing == (digest_of(ROWS[0]),)


def test_details_name_no_file_of_this_machine(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        got = reopen(store, DIGEST, [Committed(PUBLIC[0], sha256(b"gone"))])
    assert got.set_aside[0].code == "missing" and str(tmp_path) not in str(got.set_aside)


def committed_in(store: DirectoryStore) -> list[tuple[str, str]]:
    return [tuple(each) for each in committed(store, DIGEST)]


def test_the_deliveries_of_a_requirement_are_those_that_pointers_commit(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        assert committed_in(store) == []
        one = store.put(sealed(statement(ROWS)))
        two = store.put(sealed(statement(ROWS, signer=1, run=RUNS[1])))
        store.link(DELIVERIES, named(DIGEST, PUBLIC[0]), one)
        store.link(DELIVERIES, named(DIGEST, PUBLIC[1]), two)
        store.link(DELIVERIES, named(sha256(b"another"), PUBLIC[1]), two)
        store.link(DELIVERIES, named(DIGEST), one)
        store.link(DELIVERIES, named(DIGEST, PUBLIC[0], PUBLIC[1]), two)
        assert committed_in(store) == sorted([(PUBLIC[0], one), (PUBLIC[1], two)])
        name = named(DIGEST, PUBLIC[0])
        (tmp_path / "store" / "pointers" / DELIVERIES / name).write_bytes(b"?")
        assert committed_in(store) == sorted([(PUBLIC[0], ""), (PUBLIC[1], two)])
