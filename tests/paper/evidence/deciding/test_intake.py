"""Intake keeps a delivery whole or not at all, and each refusal has its code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import (
    DIGEST,
    PINNED,
    PUBLIC,
    SIGNERS,
    Box,
    a_store,
    kept,
    pinned_rows,
    sealed,
    statement,
)
from tests.paper.evidence.deciding.world import CASES, RUNS, WANTED, digest_of, required_case

from cacheon.evidence.delivery import DELIVERY_TYPE, Delivery
from cacheon.evidence.envelope import seal
from cacheon.evidence.intake import take_in
from cacheon.evidence.observation import Observation
from cacheon.evidence.pointers import DELIVERIES, NONCES, named
from cacheon.evidence.reasons import REASONS
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.store import DirectoryStore, Limits, StoreFailed
from cacheon.records.canonical import LIMIT, encode
from cacheon.records.digest import sha256
from cacheon.records.errors import InputError

replace = msgspec.structs.replace
ROWS = pinned_rows()
WHOLE = statement(ROWS)
DATA = sealed(WHOLE)
OTHER = sha256(b"other")


def refused(store: DirectoryStore, data: bytes, box: Box, **more: Any) -> str:
    """The code of the refusal; nothing is kept by it."""
    before = kept(store)
    with pytest.raises(InputError) as caught:
        take_in(store, data, box, **more)
    assert kept(store) == before
    assert caught.value.exit_code == 2 and "\n" not in str(caught.value)
    code = cast(str, caught.value.code)  # type: ignore[attr-defined]
    assert code in REASONS
    return code


def test_a_whole_delivery_is_kept_and_counts(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        got = take_in(store, DATA, Box(*ROWS))
        blobs, pointers = kept(store)
    assert got == (DIGEST, sha256(DATA), PUBLIC[0], WHOLE.observations, False, ())
    assert blobs == {DIGEST, sha256(DATA), *WHOLE.observations}
    assert sorted(pointers) == [
        f"{DELIVERIES}/{DIGEST}-{PUBLIC[0]}",
        f"{NONCES}/{PINNED.nonce}-{PUBLIC[0]}",
    ]


def test_the_same_delivery_again_changes_nothing(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        first = take_in(store, DATA, Box(*ROWS))
        before = kept(store)
        assert take_in(store, DATA, Box(*ROWS)) == first._replace(again=True)
        assert kept(store) == before
        # What lies in the store already can be taken in from it.
        assert take_in(store, DATA, store).again


def test_two_keys_deliver_for_one_nonce(tmp_path: Path) -> None:
    rows = pinned_rows(RUNS[1])
    with a_store(tmp_path) as store:
        take_in(store, DATA, Box(*ROWS))
        got = take_in(store, sealed(statement(rows, signer=1, run=RUNS[1])), Box(*rows))
    assert got.observer == PUBLIC[1] and not got.again


def test_a_delivery_that_shows_only_a_part_is_kept_and_says_so(tmp_path: Path) -> None:
    rows = [ROWS[0]]
    with a_store(tmp_path) as store:
        got = take_in(store, sealed(statement(rows)), Box(*rows))
    assert [(each.code, each.variant, each.case) for each in got.absent] == [
        ("case-missing", "small", CASES[1].case),
        ("case-missing", "small", CASES[2].case),
        ("variant-missing", "large", ""),
        ("member-missing", "", ""),
    ]


def test_killed_before_its_pointers_it_is_taken_in_again(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        for row in ROWS:
            store.put(encode(row))
        store.link(NONCES, named(PINNED.nonce, PUBLIC[0]), store.put(DATA))
        assert not take_in(store, DATA, Box(*ROWS)).again


@pytest.mark.parametrize("step", range(8))
def test_killed_anywhere_it_counts_only_once_all_is_there(tmp_path: Path, step: int) -> None:
    with a_store(tmp_path) as store:
        failing = cast(DirectoryStore, Stopping(store, step))
        with pytest.raises(StoreFailed):
            take_in(failing, DATA, Box(*ROWS))
        blobs, pointers = kept(store)
        assert not [name for name in pointers if name.startswith(DELIVERIES)]
        if pointers:
            assert blobs == {DIGEST, sha256(DATA), *WHOLE.observations}
        assert not take_in(store, DATA, Box(*ROWS)).again


def test_what_a_sweep_takes_before_the_pointers_is_put_back(tmp_path: Path) -> None:
    class Swept(Stopping):
        def put(self, data: bytes) -> str:
            digest = self._store.put(data)
            if data == DATA:
                for name in WHOLE.observations[1:3]:
                    (tmp_path / "store" / "blobs" / name[:2] / name).unlink()
            return digest

        def _step(self) -> None:
            return None

    with a_store(tmp_path) as store:
        take_in(cast(DirectoryStore, Swept(store, 0)), DATA, Box(*ROWS))
        assert kept(store)[0] == {DIGEST, sha256(DATA), *WHOLE.observations}


class Stopping:
    """A store whose machine fails at one of its writes: five observations, the envelope,
    two pointers."""

    def __init__(self, store: DirectoryStore, step: int) -> None:
        self._store, self._left = store, step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _step(self) -> None:
        if not self._left:
            raise StoreFailed(OSError(28, "No space left on device"), "store")
        self._left -= 1

    def put(self, data: bytes) -> str:
        self._step()
        return self._store.put(data)

    def link(self, kind: str, name: str, digest: str) -> bool:
        self._step()
        return self._store.link(kind, name, digest)


# --- the envelope and the delivery ---------------------------------------------------------------


def restated(**changes: Any) -> bytes:
    """A delivery with other fields, truly signed."""
    return sealed(replace(WHOLE, **changes), 0)


def with_field(record: msgspec.Struct, **more: Any) -> bytes:
    return encode({**msgspec.to_builtins(record), **more})


ENVELOPES: dict[str, tuple[bytes, str]] = {
    "no envelope": (b"{}", "not-a-record"),
    "nothing": (b"", "not-a-record"),
    "another spelling": (DATA + b"\n", "not-canonical"),
    "an unsigned delivery": (encode(WHOLE), "not-a-record"),
    "another type": (seal(encode(WHOLE), "text/plain", SIGNERS[:1]), "payload-type"),
    "an observation": (seal(encode(ROWS[0]), DELIVERY_TYPE, SIGNERS[:1]), "not-a-record"),
    "a verdict": (seal(with_field(WHOLE, passed=True), DELIVERY_TYPE, SIGNERS[:1]), "not-a-record"),
    "no signature": (seal(encode(WHOLE), DELIVERY_TYPE, []), "signatures"),
    "too many signatures": (
        seal(encode(WHOLE), DELIVERY_TYPE, SIGNERS[:1] * 100),
        "signatures",
    ),
    "another's signature": (sealed(WHOLE, 1), "unsigned"),
    "a key that is not pinned": (sealed(statement(ROWS, signer=2)), "key-not-pinned"),
    "an unknown requirement": (restated(requirement=OTHER), "requirement-unknown"),
    "another nonce": (restated(nonce=OTHER), "other-nonce"),
    "another launch": (restated(launch=OTHER), "other-launch"),
    "too large": (b" " * ((8 << 20) + 1), "too-large"),
    "another order": (restated(observations=WHOLE.observations[::-1]), "not-sorted"),
    "one twice": (
        restated(observations=(*WHOLE.observations[:1], *WHOLE.observations[:1])),
        "not-sorted",
    ),
    "more than cases": (
        restated(observations=tuple(sorted([*WHOLE.observations, OTHER]))),
        "too-many",
    ),
    "an observation that is not there": (restated(observations=(OTHER,)), "missing"),
}


@pytest.mark.parametrize("name", ENVELOPES)
def test_what_is_no_delivery_for_the_requirement_is_refused(tmp_path: Path, name: str) -> None:
    data, code = ENVELOPES[name]
    with a_store(tmp_path) as store:
        assert refused(store, data, Box(*ROWS)) == code


def test_a_store_s_own_limits_hold(tmp_path: Path) -> None:
    def limited(**limits: int) -> DirectoryStore:
        return DirectoryStore.open(tmp_path / "store", fsync=False, limits=Limits(**limits))

    a_store(tmp_path).close()
    size = sum(len(encode(row)) for row in ROWS)
    with limited(record_bytes=len(DATA) - 1) as store:
        assert refused(store, DATA, Box(*ROWS)) == "too-large"
    with limited(delivery_records=len(ROWS) - 1) as store:
        assert refused(store, DATA, Box(*ROWS)) == "too-many"
    with limited(delivery_bytes=size - 1) as store:
        assert refused(store, DATA, Box(*ROWS)) == "too-large"
    with limited(delivery_bytes=size, delivery_records=len(ROWS)) as store:
        assert take_in(store, DATA, Box(*ROWS)).absent == ()


# --- the requirement -----------------------------------------------------------------------------


def of(requirement: Requirement) -> tuple[bytes, Box]:
    rows = pinned_rows(requirement=requirement)
    return sealed(statement(rows, requirement=requirement)), Box(*rows)


def test_what_is_stored_under_the_name_must_be_a_requirement(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        named_so = store.put(encode(ROWS[0]))
        assert refused(store, restated(requirement=named_so), Box(*ROWS)) == "not-a-record"


def test_a_requirement_that_contradicts_itself_takes_nothing_in(tmp_path: Path) -> None:
    unsound = replace(PINNED, quorum=3)
    with a_store(tmp_path, unsound) as store:
        assert refused(store, *of(unsound)) == "requirement-unsound"


def test_an_older_policy_than_the_oldest_still_graded_is_refused(tmp_path: Path) -> None:
    version = WANTED.policy.version
    with a_store(tmp_path) as store:
        assert refused(store, DATA, Box(*ROWS), minimum={"h200": version + 1}) == "policy-older"
        # Another arena's versions are another matter.
        take_in(store, DATA, Box(*ROWS), minimum={"h200": version, "b200": version + 9})


# --- the nonce -----------------------------------------------------------------------------------

SECOND = pinned_rows(RUNS[1])
AGAIN = sealed(statement(SECOND, run=RUNS[1]))


def test_a_key_delivers_once_for_a_nonce(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        take_in(store, DATA, Box(*ROWS))
        assert refused(store, AGAIN, Box(*SECOND)) == "nonce-spent"


def test_a_nonce_is_not_spent_again_for_another_requirement(tmp_path: Path) -> None:
    other = replace(PINNED, soak=128)
    with a_store(tmp_path) as store:
        store.put(encode(other))
        take_in(store, DATA, Box(*ROWS))
        assert refused(store, *of(other)) == "nonce-spent"


@pytest.mark.parametrize("kind", [NONCES, DELIVERIES])
def test_of_two_at_once_the_later_is_refused(tmp_path: Path, kind: str) -> None:
    """Another delivery comes between the last check and the pointer."""

    class Racing(Stopping):
        def link(self, kind_: str, name: str, digest: str) -> bool:
            if kind_ == kind:
                for row in SECOND:
                    self._store.put(encode(row))
                self._store.link(kind, name, self._store.put(AGAIN))
            return self._store.link(kind_, name, digest)

        def _step(self) -> None:
            return None

    with a_store(tmp_path) as store:
        with pytest.raises(InputError, match="nonce-spent"):
            take_in(cast(DirectoryStore, Racing(store, 0)), DATA, Box(*ROWS))
        assert sha256(DATA) not in [
            store.pointer(DELIVERIES, name) for name in store.names(DELIVERIES)
        ]


# --- observations --------------------------------------------------------------------------------

FOREIGN = required_case("norm.rmsnorm", "default", 7)
RAW: dict[str, tuple[Callable[[Observation], Any], str]] = {
    "another requirement": (lambda row: replace(row, requirement=OTHER), "other-requirement"),
    "another nonce": (lambda row: replace(row, nonce=OTHER), "other-nonce"),
    "another run": (lambda row: replace(row, run=OTHER), "other-run"),
    "another launch": (lambda row: replace(row, launch=OTHER), "other-launch"),
    "another bundle": (lambda row: replace(row, bundle=OTHER), "other-bundle"),
    "a case that is not required": (
        lambda row: replace(row, case=FOREIGN.case, descriptor=FOREIGN.descriptor),
        "not-required",
    ),
    "a descriptor of another case": (
        lambda row: replace(row, descriptor=CASES[1].descriptor),
        "other-case",
    ),
    "a rehearsal": (lambda row: replace(row, backend="rehearsal"), "rehearsal"),
    "seen in one process": (lambda row: replace(row, isolation="inline"), "isolation"),
    "a verdict": (lambda row: with_field(row, graph_passed=True), "not-a-record"),
    "a verdict for a count": (
        lambda row: encode(row).replace(b'"replays_passed":8', b'"replays_passed":true'),
        "not-a-record",
    ),
    "a number that is no number": (lambda row: replace(row, max_abs="0.5"), "not-a-record"),
    "another schema": (
        lambda row: with_field(row, schema="cacheon/observation/9"),
        "not-a-record",
    ),
    "another spelling": (lambda row: encode(row) + b" ", "not-canonical"),
    "a duplicate key": (
        lambda row: encode(row).replace(b'"stage":""', b'"stage":"","stage":""'),
        "not-canonical",
    ),
    "too large": (lambda _: b" " * (LIMIT + 1), "too-large"),
    "nesting without end": (lambda _: b"[" * 1000, "too-deep"),
}


@pytest.mark.parametrize("name", RAW)
def test_an_observation_that_is_not_raw_typed_bound_and_canonical_is_refused(
    tmp_path: Path, name: str
) -> None:
    spoil, code = RAW[name]
    made = spoil(ROWS[0])
    data = made if isinstance(made, bytes) else encode(made)
    box = Box(*ROWS[1:])
    box.blobs[sha256(data)] = data
    delivery: Delivery = replace(WHOLE, observations=tuple(sorted(box.blobs)))
    with a_store(tmp_path) as store:
        assert refused(store, sealed(delivery), box) == code


def test_bytes_under_another_digest_are_refused(tmp_path: Path) -> None:
    box = Box(*ROWS)
    box.blobs[digest_of(ROWS[0])] = encode(replace(ROWS[0], failure="replay"))
    with a_store(tmp_path) as store:
        assert refused(store, DATA, box) == "corrupt"


def test_two_observations_of_one_case_are_refused(tmp_path: Path) -> None:
    rows = [*ROWS[:-1], replace(ROWS[0], max_abs=(0.5).hex())]
    with a_store(tmp_path) as store:
        assert refused(store, sealed(statement(rows)), Box(*rows)) == "duplicate-case"
