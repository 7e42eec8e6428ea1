"""Sources as bundles, scanned."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cacheon.bundle import open_bundle
from cacheon.contract.slots import slot
from cacheon.scan.bundles import scan_bundle
from cacheon.scan.findings import ScanFinding

Found = Callable[..., list[ScanFinding]]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    """Scan one source as the row of a slot, whose entry has the slot's last name: its
    findings that are not ignored."""

    def scan(
        source: str,
        name: str = "activation.silu_and_mul",
        files: Mapping[str, str] | None = None,
        without: frozenset[str] = frozenset(),
        row: str = "",
    ) -> list[ScanFinding]:
        contract = slot(name)
        prepare = 'prepare = "prepare"\n' if contract.prepare else ""
        (tmp_path / "manifest.toml").write_text(
            'bundle_id = "b"\nabi_version = "cacheon-op-abi-v0"\n[[ops]]\n'
            f'slot = "{name}"\nsource = "kernels/k.py"\nentry = "{name.split(".")[1]}"\n'
            f"{prepare}{row}"
        )
        for path, text in {"kernels/k.py": source, **(files or {})}.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
        findings = scan_bundle(open_bundle(tmp_path), without)
        return [finding for finding in findings if not finding.ignored]

    return scan
