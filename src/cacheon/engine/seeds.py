"""Numbers made of a run's seed, from which nobody finds it."""

import hashlib


def another(seed: int) -> int:
    """The seed of a further attempt, 48 bits: what an attempt that was lost has shown of its
    draws is of no use in the next."""
    return _digest("again", seed, 6)


def skew_of(seed: int) -> int:
    """What seeds the delays between a rank's calls, 16 bits. A candidate can read it, and must
    not find the seed of the draws by it: each stands for very many."""
    return _digest("skew", seed, 2)


def _digest(what: str, seed: int, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{what}:{seed}".encode(), digest_size=size).digest())
