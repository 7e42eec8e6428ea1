"""A grade held against its evidence, and a log against what was signed elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import DIGEST, PINNED, PUBLIC, SIGNERS, sealed, statement
from tests.paper.evidence.deciding.world import digest_of
from tests.paper.evidence.laboratory import seen_by

from cacheon.evidence.auditing import LOST, follow, listed, recompute
from cacheon.evidence.checkpoint import ROLE, Checkpoint
from cacheon.evidence.envelope import Pin
from cacheon.evidence.grade import Grade
from cacheon.evidence.grading import grade, grade_reopened
from cacheon.evidence.intake import take_in
from cacheon.evidence.log import Log
from cacheon.evidence.pointers import committed
from cacheon.evidence.reasons import REASONS
from cacheon.evidence.reopening import reopen
from cacheon.evidence.store import DirectoryStore, StoreRefused
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256
from cacheon.records.errors import RecordRefused

ROWS = seen_by()
PIN = Pin(key=SIGNERS[0].public, role=ROLE)


class Without:
    """The blobs of a store, but for some of them."""

    def __init__(self, store: DirectoryStore, *gone: str) -> None:
        self.store, self.gone = store, gone

    def get(self, digest: str, limit: int | None = None) -> bytes:
        if digest in self.gone:
            raise StoreRefused("missing", expected="a stored file", got="none")
        return self.store.get(digest, limit)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DirectoryStore]:
    """Two labs' deliveries, both taken in."""
    with DirectoryStore.open(tmp_path / "store", create=True, fsync=False) as store:
        store.put(encode(PINNED))
        for lab in (0, 1):
            rows = seen_by(lab)
            for row in rows:
                store.put(encode(row))
            run = rows[0].run
            take_in(store, sealed(statement(rows, signer=lab, run=run)), store)
        yield store


@pytest.fixture
def published(store: DirectoryStore) -> Grade:
    return grade(store, DIGEST)


def test_the_same_evidence_is_the_same_grade(store: DirectoryStore, published: Grade) -> None:
    assert published.decision == "PASS"
    found = recompute(store, published, ())
    assert found == ("same", published, ())
    other = msgspec.structs.replace(published, grader="9", grader_digest=sha256(b"9"))
    assert recompute(store, other, ()).outcome == "same"


def test_a_decision_or_a_reason_that_differs(store: DirectoryStore, published: Grade) -> None:
    (reason,) = published.reasons
    for forged in (
        msgspec.structs.replace(published, decision="FAIL"),
        msgspec.structs.replace(published, reasons=()),
        msgspec.structs.replace(
            published, reasons=(msgspec.structs.replace(reason, detail="more"),)
        ),
        msgspec.structs.replace(published, deliveries=()),
    ):
        assert recompute(store, forged, ()).outcome == "differs"


def test_what_it_names_that_differs(store: DirectoryStore, published: Grade) -> None:
    for field, value in (
        ("observations", published.observations[1:]),
        ("observations", (*published.observations, DIGEST)),
        ("deliveries", (*published.deliveries, published.observations[0])),
        ("policy", msgspec.structs.replace(PINNED.policy, version=99)),
    ):
        forged = msgspec.structs.replace(published, **{field: value})
        assert recompute(store, forged, ()).outcome == "differs"


def test_a_delivery_that_the_grade_leaves_out(store: DirectoryStore) -> None:
    taken = committed(store, DIGEST)
    for each in taken:
        alone = grade_reopened(reopen(store, DIGEST, [each]))
        assert recompute(store, alone, taken) == ("same", alone, ())
        (other,) = {*taken} - {each}
        gone = Without(store, other.digest)
        found = recompute(gone, alone, taken)
        assert (found.outcome, found.made.decision) == ("differs", "NO_DECISION")
        nothing = grade_reopened(reopen(store, DIGEST, []))
        # What it said could be known then, and more has come since.
        assert recompute(store, nothing, taken).outcome == "same"


def test_what_it_rests_on_and_is_gone(store: DirectoryStore, published: Grade) -> None:
    for gone in (*published.deliveries, *published.observations, DIGEST):
        found = recompute(Without(store, gone), published, ())
        assert found.outcome == "lost"
        assert [(each.what, each.code) for each in found.lost] == [(gone, "missing")]
        assert found.made.decision == "NO_DECISION"


def test_a_grade_of_a_lost_requirement(store: DirectoryStore, published: Grade) -> None:
    blobs = Without(store, DIGEST)
    lost = msgspec.structs.replace(
        published,
        decision="NO_DECISION",
        reasons=recompute(blobs, published, ()).made.reasons,
        policy=None,
        deliveries=(),
        observations=(),
    )
    assert recompute(blobs, lost, ()).outcome == "same"
    assert recompute(store, lost, ()).outcome == "differs"


def test_the_codes_of_lost_bytes_are_known() -> None:
    assert set(REASONS) >= LOST


# --- the log ---------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log(tmp_path / "log", origin="lab", create=True, fsync=False) as log:
        yield log


def code(log: Log, earlier: Checkpoint | None = None) -> str:
    with pytest.raises(RecordRefused) as caught:
        follow(log, [PIN], earlier)
    return caught.value.code


def test_a_log_is_followed_from_an_earlier_checkpoint(log: Log) -> None:
    assert code(log) == "unsigned"
    log.append("requirement", DIGEST)
    first = log.checkpoint(SIGNERS[0])
    assert follow(log, [PIN]) == first
    log.append("grade", sha256(b"grade"))
    assert not listed(log, "grade", sha256(b"grade"), first)
    second = log.checkpoint(SIGNERS[0])
    assert follow(log, [PIN], first) == second
    assert listed(log, "grade", sha256(b"grade"), second)
    assert listed(log, "requirement", DIGEST, second)
    assert not listed(log, "grade", DIGEST, second)


def test_an_earlier_checkpoint_that_counts_more(log: Log, tmp_path: Path) -> None:
    log.append("requirement", DIGEST)
    log.checkpoint(SIGNERS[0])
    log.append("grade", sha256(b"grade"))
    kept = log.checkpoint(SIGNERS[0])
    # The last checkpoint was taken away, the entries were not.
    path = tmp_path / "log" / "checkpoints"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    assert code(log, kept) == "log-order"


def test_a_checkpoint_of_another_history(log: Log) -> None:
    log.append("requirement", DIGEST)
    log.checkpoint(SIGNERS[0])
    forked = Checkpoint(schema="cacheon/checkpoint/1", origin="lab", size=1, root=sha256(b"x"))
    assert code(log, forked) == "log-forked"
    longer = Checkpoint(schema="cacheon/checkpoint/1", origin="lab", size=2, root=sha256(b"x"))
    assert code(log, longer) == "log-shrunk"


def test_the_world_is_what_it_seems() -> None:
    assert {row.run for row in ROWS}.isdisjoint(row.run for row in seen_by(1))
    assert PINNED.observers[0].key == PUBLIC[0]
    assert digest_of(PINNED) == DIGEST
