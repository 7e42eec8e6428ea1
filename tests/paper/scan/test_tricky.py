"""Sound kernels that look like faults to whoever reads words only: nothing is found."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cacheon.contract.slots import slot
from cacheon.scan.findings import ScanFinding

Found = Callable[..., list[ScanFinding]]
TEXT = Path(__file__).with_name("tricky.txt").read_text()
_, *PARTS = re.split(r"^## (.+?)(?: \[(.+)\])?$", TEXT, flags=re.MULTILINE)
KERNELS = {name: (where, body) for name, where, body in zip(*[iter(PARTS)] * 3, strict=True)}


def source_of(name: str, last: str = "") -> tuple[str, str]:
    """The slot's name and the whole source, with one more line at the end of the entry."""
    where, body = KERNELS[name]
    contract = slot(where or "activation.silu_and_mul")
    entry = f"def {contract.name.split('.')[1]}({', '.join(contract.entry)}):"
    source = re.sub(r"^ENTRY$", entry, body.strip("\n"), flags=re.MULTILINE)
    return contract.name, f"import torch\n{source}\n    {last}\n"


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_found(name: str, found: Found) -> None:
    contract, source = source_of(name)
    said = found(source, contract)
    assert said == [], [(f.rule, f.line, f.source, f.message) for f in said]


@pytest.mark.parametrize("name", KERNELS)
def test_one_fault_more_is_found_all_the_same(name: str, found: Found) -> None:
    contract, source = source_of(name, "out.amax().item()")
    assert {f.rule for f in found(source, contract)} == {"CG101"}


def test_there_are_some() -> None:
    assert len(KERNELS) >= 10
