"""What an observer hands over: the digests of everything one run saw, signed once."""

from typing import Final, Literal

from cacheon.records.digest import Digest
from cacheon.records.strict import Record

DELIVERY: Final = "cacheon/delivery/1"
DELIVERY_TYPE: Final = "application/vnd.cacheon.delivery+json"


class Delivery(Record):
    """One run of one observer. `observer`: the public key that signs. `observations` are
    sorted and unique. What it lists and the store lacks is missing, not absent."""

    schema: Literal["cacheon/delivery/1"]
    requirement: Digest
    nonce: Digest
    run: Digest
    launch: Digest
    observer: Digest
    observations: tuple[Digest, ...]
