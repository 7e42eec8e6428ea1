"""The scan of a bundle: its manifest names the entries, its slots their arguments."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from cacheon.bundle.model import Bundle, Variant
from cacheon.bundle.snapshot import digested
from cacheon.contract.slots import slot as slot_of
from cacheon.contract.slots.model import Slot
from cacheon.scan import cuda_text, torch_api
from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Phase, Root
from cacheon.scan.findings import ScanFinding
from cacheon.scan.hygiene import hygiene
from cacheon.scan.missing import missing
from cacheon.scan.parse import uncollected
from cacheon.scan.project import Module, Project
from cacheon.scan.scanning import Scan, Start, too_long
from cacheon.scan.sources import module_of, text_of
from cacheon.scan.state import MOST_STEPS_OF_ALL
from cacheon.scan.undeclared import undeclared
from cacheon.scan.values import UNKNOWN, Host, Made, Tensor, Value


@uncollected()
def scan_bundle(bundle: Bundle, without: frozenset[str] = frozenset()) -> tuple[ScanFinding, ...]:
    """Every finding in a bundle's sources, ignored ones too, by file and line. Nothing is
    imported. `without`: rules that are switched off.

    Raises InputError, one line, for a source that does not parse or is past the bounds
    of a scan."""
    project = _project(bundle)
    scan = Scan(project, without, MOST_STEPS_OF_ALL)
    scan.walk([start for variant in bundle.variants for start in _starts(variant)])
    if "" in scan.exhausted:
        raise too_long(bundle.path, MOST_STEPS_OF_ALL)
    for path in sorted(scan.exhausted):
        raise too_long(str(Path(bundle.path) / path))
    scan.add_all(hygiene(project))
    scan.add_all(missing(project, {variant.source for variant in bundle.variants}))
    scan.add_all(_cuda(bundle, project))
    scan.add_all(undeclared(bundle, project))
    scan.comments()
    return scan.findings()


def _project(bundle: Bundle) -> Project:
    modules = [
        module_of(
            digested(bundle, entry.path, entry.digest),
            entry.path,
            str(Path(bundle.path) / entry.path),
        )
        for entry in bundle.files
        if entry.path.endswith(".py")
    ]
    # A candidate finds modules from the bundle's root, and beside the source of its row.
    beside = [PurePosixPath(variant.source).parent for variant in bundle.variants]
    roots = [".".join(directory.parts) for directory in beside if directory.parts]
    return Project(modules, list(dict.fromkeys(roots)))


def _cuda(bundle: Bundle, project: Project) -> Iterator[tuple[Module, Fault]]:
    for module in project.modules.values():
        yield from cuda_text.in_strings(module)
    declared = {name for variant in bundle.variants for name in variant.cuda_sources}
    for entry in bundle.files:
        if entry.path in declared:
            data = digested(bundle, entry.path, entry.digest)
            yield from cuda_text.in_file(text_of(data, entry.path))


def _starts(variant: Variant) -> list[Start]:
    contract = slot_of(variant.slot)
    starts = []
    if variant.prepare:
        starts.append(_start(variant, contract, variant.prepare, contract.prepare, "load"))
    starts.append(_start(variant, contract, variant.entry, contract.entry, "replay"))
    return starts


def _start(
    variant: Variant, contract: Slot, name: str, names: Sequence[str], phase: Phase
) -> Start:
    root = Root(
        path=variant.source,
        name=name,
        line=0,
        phase=phase,
        slot=contract,
        arguments=tuple(names),
    )

    def arguments(returned: dict[str, Value]) -> list[Value]:
        prepared = returned.get(variant.prepare, UNKNOWN)
        return [_argument(contract, each, prepared) for each in names]

    return Start(root, name, arguments)


def _argument(contract: Slot, name: str, prepared: Value) -> Value:
    """What the caller hands over for an argument of the contract."""
    if name == "prepared":
        return prepared
    if name == "group":
        return Made(name=torch_api.PROCESS_GROUP, shares=frozenset({name}))
    itself = frozenset({name})
    if name in {tensor.name for tensor in contract.tensors}:
        return Tensor(shares=itself, holds=itself)
    return Host(shares=itself)
