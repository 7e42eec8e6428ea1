"""Names under which an observer's run keeps what it has seen."""

from cacheon.evidence.running import variant_name
from cacheon.records.digest import is_digest


def test_a_variant_has_a_name_of_its_own() -> None:
    names = {
        variant_name("norm.rmsnorm", "default"),
        variant_name("norm.rmsnorm", "fast"),
        variant_name("activation.silu_and_mul", "default"),
    }
    assert len(names) == 3
    assert all(map(is_digest, names))
