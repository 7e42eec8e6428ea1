"""`show`: one record of a store, read again and put into words."""

from pathlib import Path

from cacheon.evidence.envelope import Envelope
from cacheon.evidence.kinds import Stored, facts, known
from cacheon.evidence.references import references
from cacheon.evidence.store import DirectoryStore
from cacheon.records.strict import Record
from cacheon.workflows.naming import named_digest


class Shown(Record):
    """`record` is what the stored bytes hold: of a delivery what was signed, while
    `signatures` are the ids of the keys that are said to have signed it, unverified.
    `references`: what it cannot do without."""

    digest: str
    kind: str
    bytes: int
    facts: dict[str, str]
    references: tuple[str, ...]
    signatures: tuple[str, ...]
    record: Stored


def show_record(store: Path, named: str) -> Shown:
    """The record of a digest, or of a prefix that only one has. Raises InputError for bytes
    that are missing, damaged or no record."""
    with DirectoryStore.open(store) as opened:
        digest = named_digest(opened, named)
        data = opened.get(digest)
    kind, record, envelope = known(data, source=digest)
    if envelope is None and isinstance(record, Envelope):
        envelope = record
    return Shown(
        digest=digest,
        kind=kind,
        bytes=len(data),
        facts=facts(record),
        references=references(data),
        signatures=tuple(each.keyid for each in envelope.signatures) if envelope else (),
        record=record,
    )
