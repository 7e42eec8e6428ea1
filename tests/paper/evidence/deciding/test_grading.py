"""A grade is a function of stored bytes, names all that it rests on, and can be had again."""

import ast
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import (
    DIGEST,
    PINNED,
    PUBLIC,
    Box,
    a_store,
    pinned_rows,
    sealed,
    statement,
)
from tests.paper.evidence.deciding.world import RUNS, digest_of

import cacheon
from cacheon.evidence.binding import Committed
from cacheon.evidence.grade import Grade, Reason, SetAside
from cacheon.evidence.grading import (
    DECIDING,
    grade,
    grade_reopened,
    grader_digest,
    publish,
    regrade,
)
from cacheon.evidence.intake import take_in
from cacheon.evidence.pointers import DELIVERIES, GRADES, named
from cacheon.evidence.reopening import reopen
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256
from cacheon.records.errors import RecordRefused

replace = msgspec.structs.replace
ROOT = Path(cacheon.__file__).parent
ROWS = pinned_rows()
DATA = sealed(statement(ROWS))
FAILING = [replace(ROWS[0], run=RUNS[1], failure="eager", stage="eager")] + [
    replace(row, run=RUNS[1]) for row in ROWS[1:]
]
SECOND = sealed(statement(FAILING, signer=1, run=RUNS[1]))


def filled(path: Path) -> DirectoryStore:
    store = a_store(path)
    take_in(store, DATA, Box(*ROWS))
    return store


def blob(path: Path, digest: str) -> Path:
    return path / "store" / "blobs" / digest[:2] / digest


def test_whole_evidence_is_graded_and_everything_named(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        got = grade(store, DIGEST)
    assert got == Grade(
        schema="cacheon/grade/1",
        requirement=DIGEST,
        decision="PASS",
        reasons=(Reason(code="every-case-shown"),),
        set_aside=(),
        deliveries=(sha256(DATA),),
        observations=tuple(sorted(map(digest_of, ROWS))),
        policy=PINNED.policy,
        grader=cacheon.__version__,
        grader_digest=grader_digest(),
    )
    assert decode(encode(got), Grade) == got


def test_nothing_is_known_of_a_requirement_that_is_gone(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        blob(tmp_path, DIGEST).unlink()
        got = grade(store, DIGEST)
        again = regrade(store, got)
    assert got == again
    assert got.decision == "NO_DECISION" and got.policy is None
    assert got.reasons == (Reason(code="requirement-missing"),)
    assert [(aside.what, aside.code) for aside in got.set_aside] == [(DIGEST, "missing")]
    assert got.deliveries == got.observations == ()
    assert (got.grader, got.grader_digest) == (cacheon.__version__, grader_digest())
    assert decode(encode(got), Grade) == got


def test_what_is_no_digest_is_graded_by_nobody(tmp_path: Path) -> None:
    with filled(tmp_path) as store, pytest.raises(RecordRefused, match="not-a-digest"):
        grade(store, "latest")


def test_a_corrupt_blob_is_found_and_decides_nothing(tmp_path: Path) -> None:
    victim = digest_of(ROWS[0])
    with filled(tmp_path) as store:
        path = blob(tmp_path, victim)
        path.write_bytes(path.read_bytes().replace(b'"complete":true', b'"complete":TRUE'))
        got = grade(store, DIGEST)
    assert got.decision == "NO_DECISION"
    assert got.reasons[0] == Reason(code="observation-missing", observer=PUBLIC[0], detail=victim)
    assert [(aside.what, aside.code) for aside in got.set_aside] == [(victim, "corrupt")]
    assert victim not in got.observations and len(got.observations) == len(ROWS) - 1


EVERYTHING = {
    "requirement": DIGEST,
    "envelope": sha256(DATA),
    **{f"observation {number}": digest_of(row) for number, row in enumerate(ROWS)},
}


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def make_a_link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


@pytest.mark.parametrize("damage", [Path.unlink, cut_short, flip_a_bit, make_a_link])
@pytest.mark.parametrize("what", EVERYTHING)
def test_no_byte_that_a_pass_rests_on_can_be_spared(
    tmp_path: Path, what: str, damage: Callable[[Path], None]
) -> None:
    with filled(tmp_path) as store:
        damage(blob(tmp_path, EVERYTHING[what]))
        got = grade(store, DIGEST)
    assert got.decision == "NO_DECISION"
    assert EVERYTHING[what] in [aside.what for aside in got.set_aside]


def test_a_failure_is_reported_beside_damage(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        take_in(store, SECOND, Box(*FAILING))
        for row in ROWS:
            blob(tmp_path, digest_of(row)).unlink()
        got = grade(store, DIGEST)
    assert got.decision == "FAIL"
    assert got.reasons[0].code == "failed-eager"
    codes = {reason.code for reason in got.reasons}
    assert codes == {"failed-eager", "observation-missing", "member-missing"}


def test_a_lost_failure_leaves_no_pass(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        take_in(store, SECOND, Box(*FAILING))
        assert grade(store, DIGEST).decision == "FAIL"
        blob(tmp_path, sha256(SECOND)).unlink()
        got = grade(store, DIGEST)
        assert got.decision == "NO_DECISION"
        assert got.reasons == (
            Reason(code="delivery-missing", observer=PUBLIC[1], detail=sha256(SECOND)),
        )
        # Graded again from what the grade names, the loss is seen again.
        assert regrade(store, got) == got
        (tmp_path / "store" / "pointers" / DELIVERIES / named(DIGEST, PUBLIC[1])).write_bytes(b"")
        got = grade(store, DIGEST)
        assert got.reasons == (Reason(code="delivery-missing", observer=PUBLIC[1]),)
        assert [(aside.what, aside.code) for aside in got.set_aside] == [(PUBLIC[1], "pointer")]
        assert regrade(store, got) == got


def test_a_regrade_looks_at_what_the_grade_rests_on(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        passed = grade(store, DIGEST)
        take_in(store, SECOND, Box(*FAILING))
        assert grade(store, DIGEST).decision == "FAIL"
        assert regrade(store, passed) == passed
        # What the grade rests on has been lost since: that is seen, too.
        blob(tmp_path, sha256(DATA)).unlink()
        codes = [reason.code for reason in regrade(store, passed).reasons]
        assert codes == ["no-evidence", "delivery-missing"]


def test_what_is_set_aside_is_listed_from_reading_and_from_binding() -> None:
    rehearsed = replace(ROWS[0], backend="rehearsal")
    rows = [*ROWS, rehearsed]
    garbage = b"{}"
    delivery = statement(rows)
    listed = tuple(sorted([*delivery.observations, sha256(garbage)]))
    data = sealed(replace(delivery, observations=listed))
    box = Box(*rows)
    box.blobs.update({sha256(each): each for each in (garbage, data, encode(PINNED))})
    got = grade_reopened(reopen(box, DIGEST, [Committed(PUBLIC[0], sha256(data))]))
    assert got.decision == "NO_DECISION"
    assert {(aside.what, aside.code) for aside in got.set_aside} == {
        (sha256(garbage), "not-a-record"),
        (digest_of(rehearsed), "rehearsal"),
    }
    assert got.set_aside == tuple(sorted(got.set_aside, key=order))
    assert digest_of(rehearsed) not in got.observations


def order(aside: SetAside) -> tuple[str, str]:
    return aside.what, aside.code


def test_a_grade_is_published_once(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        made = grade(store, DIGEST)
        digest = publish(store, made)
        assert publish(store, made) == digest == digest_of(made)
        assert decode(store.get(digest), Grade) == made
        assert store.pointer(GRADES, named(DIGEST, digest)) == digest


def imported(path: Path) -> set[str]:
    """The package's own files that a module imports, by name relative to the package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cacheon."):
            found.add("/".join(node.module.split(".")[1:]) + ".py")
    return found


def test_the_grader_s_digest_covers_every_file_that_decides() -> None:
    # The contract's case is only a type here, and what the store answers is checked.
    apart = {"contract/case.py", "evidence/store/port.py", "evidence/store/errors.py"}
    reached: set[str] = set()
    waiting = {"evidence/grading.py"}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= imported(ROOT / name) - reached - apart
    assert reached == set(DECIDING) and list(DECIDING) == sorted(DECIDING)


def test_the_grader_s_digest_is_of_these_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {name: sha256((ROOT / name).read_bytes()) for name in DECIDING}
    assert grader_digest() == sha256(encode(names))
    monkeypatch.setattr("cacheon.evidence.grading.DECIDING", DECIDING[1:])
    assert grader_digest() != sha256(encode(names))
