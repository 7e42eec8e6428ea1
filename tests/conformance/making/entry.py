"""One directory of the suite, and the files that most of them are made of."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.conformance.making.world import (
    KEYS,
    REQUIREMENT,
    Body,
    a_delivery,
    an_envelope,
    canonical,
    digest,
    rows_of,
    sha256,
)

Files = dict[str, bytes]
INTAKE = "cacheon intake sent/delivery.json --requirement requirement.json --store evidence"
GRADE = "cacheon grade requirement.json --store evidence --format json"
FORMAT = b"cacheon-store/1\n"


class Entry(NamedTuple):
    """`name` is the expected answer of the last command. `make`: what git cannot hold."""

    name: str
    command: Sequence[str]
    files: Files
    make: Sequence[str] = ()


def bytes_of(row: Body | bytes) -> bytes:
    return row if isinstance(row, bytes) else canonical(row)


def sent(
    rows: Iterable[Body | bytes] | None = None,
    requirement: Body = REQUIREMENT,
    lab: int = 0,
    *,
    envelope: Body | bytes | None = None,
    directory: str = "sent",
    said: Body | None = None,
) -> Files:
    """A requirement in a file, and a delivery beside its observations. `said`: what the
    delivery says otherwise, signed all the same."""
    data = [bytes_of(row) for row in (rows_of(requirement, lab) if rows is None else rows)]
    if envelope is None:
        body = a_delivery([sha256(each) for each in data], requirement, lab, said)
        envelope = an_envelope(canonical(body), lab)
    return {
        "requirement.json": canonical(requirement),
        f"{directory}/delivery.json": bytes_of(envelope),
        **{f"{directory}/{sha256(each)}.json": each for each in data},
    }


def stored(blobs: Iterable[bytes], pointers: dict[str, str], root: str = "evidence") -> Files:
    """A store as files: `pointers` by kind and name."""
    return {
        f"{root}/format": FORMAT,
        **{f"{root}/blobs/{sha256(each)[:2]}/{sha256(each)}": each for each in blobs},
        **{f"{root}/pointers/{name}": f"{named}\n".encode() for name, named in pointers.items()},
    }


def blob(named: str, root: str = "evidence") -> str:
    return f"{root}/blobs/{named[:2]}/{named}"


def taken_in(
    rows: Iterable[Body | bytes] | None = None,
    requirement: Body = REQUIREMENT,
    lab: int = 0,
    said: Body | None = None,
) -> Files:
    """A store into which a delivery was taken, whatever it holds."""
    data = [bytes_of(row) for row in (rows_of(requirement, lab) if rows is None else rows)]
    body = a_delivery([sha256(each) for each in data], requirement, lab, said)
    envelope = canonical(an_envelope(canonical(body), lab))
    return {
        "requirement.json": canonical(requirement),
        **stored(
            [canonical(requirement), envelope, *data],
            {
                f"requirement/{digest(requirement)}": digest(requirement),
                f"nonce/{requirement['nonce']}-{KEYS[lab]}": sha256(envelope),
                f"delivery/{digest(requirement)}-{KEYS[lab]}": sha256(envelope),
            },
        ),
    }


def delivery_of(files: Files) -> str:
    """The digest of the delivery that a store has committed."""
    (pointer,) = [data for name, data in files.items() if "/pointers/delivery/" in name]
    return pointer.decode().strip()


def at_intake(name: str, files: Files, *make: str) -> Entry:
    return Entry(name, (INTAKE,), files, make)


def graded(name: str, files: Files, *make: str) -> Entry:
    """Taken in through the door, then graded."""
    return Entry(name, (INTAKE, GRADE), files, make)


def regraded(name: str, files: Files, *make: str) -> Entry:
    """Graded from a store as it lies there."""
    return Entry(name, (GRADE,), files, make)
