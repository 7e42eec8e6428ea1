"""Recall and restraint, rule by rule: the sources under forms/, and the catalogue's own
examples. Each is found with its rule on and not with it off."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cacheon.contract.slots import slot
from cacheon.rules.catalogue import RULES
from cacheon.scan.findings import ScanFinding

Found = Callable[..., list[ScanFinding]]
FORMS = Path(__file__).with_name("forms")
CLAIMED = [id for id, rule in RULES.items() if "scan" in rule.detected]
IMPORTS = "import torch\nfrom torch.nn.functional import silu\n"
_HEAD = re.compile(r"^## (bad|good) (?:\[(.+?)\] )?(.+)$", re.MULTILINE)
_FILE = re.compile(r"^--- (.+)$", re.MULTILINE)


class Form(NamedTuple):
    rule: str
    kind: str
    slot: str
    name: str
    source: str
    files: dict[str, str]


def forms() -> Iterator[Form]:
    for path in sorted(FORMS.glob("*.txt")):
        _, *parts = _HEAD.split(path.read_text())
        for kind, where, name, text in zip(*[iter(parts)] * 4, strict=True):
            contract = slot(where or "activation.silu_and_mul")
            entry = f"def {contract.name.split('.')[1]}({', '.join(contract.entry)}):"
            source, *files = _FILE.split(text.lstrip("\n"))
            source = IMPORTS + re.sub(r"^ENTRY$", entry, source, flags=re.MULTILINE)
            beside = dict(zip(files[::2], files[1::2], strict=True))
            yield Form(path.stem, kind, contract.name, name, source, beside)


ALL = list(forms())
BAD = [form for form in ALL if form.kind == "bad"]
GOOD = [form for form in ALL if form.kind == "good"]


def named(form: Form) -> str:
    return f"{form.rule}-{form.name}"


def rules_of(findings: list[ScanFinding]) -> set[str]:
    return {finding.rule for finding in findings}


@pytest.mark.parametrize("form", BAD, ids=named)
def test_a_bad_form_is_found(form: Form, found: Found) -> None:
    findings = found(form.source, form.slot, form.files)
    assert rules_of(findings) == {form.rule}
    for finding in findings:
        # A file as a whole has no line.
        assert bool(finding.source) == (finding.line > 0)
        assert finding.line > 0 or form.rule == "CG910"


@pytest.mark.parametrize("form", BAD, ids=named)
def test_a_bad_form_is_not_found_with_its_rule_off(form: Form, found: Found) -> None:
    off = frozenset({form.rule})
    assert found(form.source, form.slot, form.files, off) == []


@pytest.mark.parametrize("form", GOOD, ids=named)
def test_a_good_form_has_no_finding(form: Form, found: Found) -> None:
    assert found(form.source, form.slot, form.files) == []


def test_every_claimed_rule_has_two_bad_forms_and_a_good_one() -> None:
    for id in CLAIMED:
        assert sum(form.rule == id for form in BAD) >= 2, id
        assert any(form.rule == id for form in GOOD), id
        # One of them in another file than the entry.
        assert any(form.rule == id and form.files for form in BAD), id
    assert {form.rule for form in ALL} == set(CLAIMED)


@pytest.mark.parametrize("id", RULES)
def test_the_catalogues_bad_example_is_found_where_the_scan_claims_it(
    id: str, found: Found
) -> None:
    rule = RULES[id]
    ids = rules_of(found(rule.bad, rule.slot, rule.files))
    assert (id in ids) == ("scan" in rule.detected)
    assert (rule.unscanned == "") == ("scan" in rule.detected)
    off = frozenset({id})
    assert id not in rules_of(found(rule.bad, rule.slot, rule.files, off))


@pytest.mark.parametrize("id", RULES)
def test_the_catalogues_good_example_has_no_finding(id: str, found: Found) -> None:
    rule = RULES[id]
    ast.parse(rule.good)
    assert found(rule.good, rule.slot, rule.files) == []


def test_a_declared_source_of_cuda_is_read(found: Found) -> None:
    kernel = "// cudaMalloc(\n__global__ void k();\nvoid f() {\n  cudaDeviceSynchronize();\n}\n"
    source = IMPORTS + "def silu_and_mul(x, out):\n    out.copy_(x[:, : out.shape[1]])\n"
    findings = found(
        source, files={"kernels/k.cu": kernel}, row='cuda_sources = ["kernels/k.cu"]\n'
    )
    assert [(f.rule, f.file, f.line) for f in findings] == [("CG105", "kernels/k.cu", 4)]
    assert findings[0].source == "  cudaDeviceSynchronize();".strip()
