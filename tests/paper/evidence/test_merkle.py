"""The tree against RFC 6962's definition and the vectors that its implementations share."""

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheon.evidence import merkle

# The leaves and roots of the reference tree of certificate-transparency's own tests.
LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
HASHES = [merkle.leaf(data) for data in LEAVES]
# Audit paths and consistency proofs of the same tests: sizes, then what is shown.
INCLUSION = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}


def hexes(path: Sequence[bytes]) -> list[str]:
    return [step.hex() for step in path]


def defined(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, 2.1, as it is written."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = max(2**power for power in range(30) if 2**power < len(leaves))
    return hashlib.sha256(b"\x01" + defined(leaves[:k]) + defined(leaves[k:])).digest()


@pytest.mark.parametrize("size", range(9))
def test_the_roots_of_the_reference_tree(size: int) -> None:
    assert merkle.root(HASHES[:size]).hex() == ROOTS[size]


@pytest.mark.parametrize(("index", "size"), INCLUSION)
def test_the_reference_audit_paths(index: int, size: int) -> None:
    assert hexes(merkle.inclusion(HASHES[:size], index)) == INCLUSION[index, size]


@pytest.mark.parametrize(("first", "second"), CONSISTENCY)
def test_the_reference_consistency_proofs(first: int, second: int) -> None:
    assert hexes(merkle.consistency(HASHES[:second], first)) == CONSISTENCY[first, second]


@given(st.lists(st.binary(max_size=3), max_size=40))
def test_a_root_is_as_defined(leaves: list[bytes]) -> None:
    assert merkle.root([merkle.leaf(data) for data in leaves]) == defined(leaves)


TREE = [merkle.leaf(b"%d" % number) for number in range(40)]


@given(st.integers(1, 40), st.data())
def test_an_audit_path_shows_one_leaf_in_one_place(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    root = merkle.root(TREE[:size])
    path = merkle.inclusion(TREE[:size], index)
    assert merkle.shows_inclusion(TREE[index], index, size, path, root)
    other = data.draw(st.integers(-2, 41).filter(lambda other: other != index))
    assert not merkle.shows_inclusion(TREE[index], other, size, path, root)
    assert not merkle.shows_inclusion(TREE[(index + 1) % 40], index, size, path, root)
    assert not merkle.shows_inclusion(TREE[index], index, size, path, bytes(32))
    assert not merkle.shows_inclusion(TREE[index], index, size, (*path, root), root)
    if path:
        assert not merkle.shows_inclusion(TREE[index], index, size, path[:-1], root)
        assert not merkle.shows_inclusion(TREE[index], index, size, (bytes(32), *path[1:]), root)


@given(st.integers(1, 40), st.data())
def test_a_consistency_proof_shows_one_history(second: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, second))
    older, newer = merkle.root(TREE[:first]), merkle.root(TREE[:second])
    path = merkle.consistency(TREE[:second], first)
    assert merkle.shows_consistency(first, second, older, newer, path)
    assert not merkle.shows_consistency(first, second, bytes(32), newer, path)
    assert not merkle.shows_consistency(first, second, older, bytes(32), path)
    assert not merkle.shows_consistency(first, second, older, newer, (*path, newer))
    forked = [*TREE[: first - 1], bytes(32), *TREE[first:second]]
    again = merkle.consistency(forked, first)
    assert not merkle.shows_consistency(first, second, older, merkle.root(forked), again)
    for at in range(len(path)):
        bent = (*path[:at], bytes(32), *path[at + 1 :])
        assert not merkle.shows_consistency(first, second, older, newer, bent)
        less = (*path[:at], *path[at + 1 :])
        assert not merkle.shows_consistency(first, second, older, newer, less)


def test_the_ends_of_a_consistency_proof() -> None:
    root = merkle.root(TREE[:3])
    assert merkle.shows_consistency(0, 3, merkle.EMPTY, root, ())
    assert not merkle.shows_consistency(0, 3, root, root, ())
    assert not merkle.shows_consistency(0, 3, merkle.EMPTY, root, (root,))
    assert merkle.shows_consistency(0, 0, merkle.EMPTY, merkle.EMPTY, ())
    assert not merkle.shows_consistency(4, 3, root, root, ())
    assert not merkle.shows_consistency(-1, 3, root, root, ())
    assert not merkle.shows_consistency(3, 5, root, root, ())
