"""The directory store against a dictionary, whatever the order of calls."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from cacheon.evidence.store import DirectoryStore, Limits, PointerTaken, Store, StoreRefused
from cacheon.evidence.store.fsck import fsck
from cacheon.evidence.store.sweep import sweep
from cacheon.records.digest import sha256

MOST = 40
QUOTA = 200
LIMITS = Limits(record_bytes=MOST, total_bytes=QUOTA)
names = st.sampled_from([sha256(b"a"), f"{sha256(b'a')}-{sha256(b'b')}", sha256(b"c")])
kinds = st.sampled_from(["nonces", "grades"])


class AgainstDictionary(RuleBasedStateMachine):
    digests = Bundle("digests")

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.store = self.opened()
        self.blobs: dict[str, bytes] = {}
        self.pointers: dict[tuple[str, str], str] = {}

    def opened(self) -> DirectoryStore:
        return DirectoryStore.open(self.root / "s", create=True, fsync=False, limits=LIMITS)

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.root)

    def total(self) -> int:
        return sum(map(len, self.blobs.values()))

    @rule(target=digests, data=st.binary(max_size=MOST + 1))
    def put(self, data: bytes) -> str:
        digest = sha256(data)
        if len(data) > MOST:
            self.refused("too-large", lambda: self.store.put(data))
        elif digest not in self.blobs and self.total() + len(data) > QUOTA:
            self.refused("quota", lambda: self.store.put(data))
        else:
            assert self.store.put(data) == digest
            self.blobs[digest] = data
        return digest

    @rule(digest=digests)
    def get(self, digest: str) -> None:
        if digest in self.blobs:
            assert self.store.get(digest) == self.blobs[digest]
        else:
            self.refused("missing", lambda: self.store.get(digest))
        assert self.store.has(digest) == (digest in self.blobs)

    @rule(kind=kinds, name=names, digest=digests)
    def link(self, kind: str, name: str, digest: str) -> None:
        there = self.pointers.get((kind, name))
        if digest not in self.blobs:
            self.refused("dangling", lambda: self.store.link(kind, name, digest))
        elif there not in (None, digest):
            with pytest.raises(PointerTaken) as caught:
                self.store.link(kind, name, digest)
            assert caught.value.there == there
        else:
            assert self.store.link(kind, name, digest) is (there is None)
            self.pointers[kind, name] = digest

    @rule(age=st.sampled_from([-5.0, 3600.0]))
    def swept(self, age: float) -> None:
        """With a negative age everything is old enough."""
        kept = set(self.pointers.values()) if age < 0 else set(self.blobs)
        gone = sweep(self.store, lambda data: (), older_than=age)
        assert set(gone.orphans) == set(self.blobs) - kept
        self.blobs = {digest: data for digest, data in self.blobs.items() if digest in kept}

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.opened()

    @invariant()
    def lists_what_the_dictionary_holds(self) -> None:
        port: Store = self.store
        assert list(port.digests()) == sorted(self.blobs)
        seen = {(kind, name) for kind in port.kinds() for name in port.names(kind)}
        assert {at: port.pointer(*at) for at in seen} == self.pointers

    @invariant()
    def is_sound(self) -> None:
        health = fsck(self.store, lambda data: ())
        assert health.sound and not health.leftovers
        assert (health.blobs, health.bytes) == (len(self.blobs), self.total())
        assert set(health.orphans) == set(self.blobs) - set(self.pointers.values())

    def refused(self, code: str, call: object) -> None:
        assert callable(call)
        with pytest.raises(StoreRefused) as caught:
            call()
        assert caught.value.code == code


AgainstDictionary.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
TestAgainstDictionary = AgainstDictionary.TestCase
