"""Every limit of the evidence store, in one place."""

from cacheon.records.strict import Record


class Limits(Record):
    """Sizes in bytes. Beyond one of them is refused before anything is kept."""

    record_bytes: int = 8 << 20
    """One record, whichever: a requirement with many cases is the largest."""
    delivery_records: int = 50_000
    """Observations of one delivery."""
    delivery_bytes: int = 256 << 20
    """Those observations together: they are held until the last of them was checked."""
    total_bytes: int = 16 << 30
    """All blobs of a store together. Writers that run at once each count what they found
    when they began, so that a store may exceed it by what the others then wrote."""
    signatures: int = 16
    """Signatures of one envelope: each costs a verification for each pinned key."""
    log_bytes: int = 256 << 20
    """One file of a log: more than a million entries."""
    line_bytes: int = 4096
    """One line of a log."""


LIMITS = Limits()
