"""manifest.toml and the metadata of its rows, read as data."""

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cacheon.bundle.fields import Table, parse_json, parse_toml
from cacheon.bundle.model import Bundle, FileEntry, Variant
from cacheon.bundle.tree import read_file, read_tree
from cacheon.contract.descriptor import text_value
from cacheon.contract.domain import Constraint, Domain, disjoint, parse_domain
from cacheon.contract.slots import SLOTS, slot
from cacheon.contract.slots.model import Slot
from cacheon.contract.targets import target
from cacheon.records.errors import InputError

ABI_VERSION = "cacheon-op-abi-v0"
MANIFEST = "manifest.toml"
_ID = re.compile(r"\A[0-9A-Za-z._-]{1,128}\Z")
_TOP_KEYS = {"bundle_id", "abi_version", "competition", "ops"}
_ROW_KEYS = {
    "slot",
    "source",
    "entry",
    "variant",
    "prepare",
    "dtypes",
    "architectures",
    "metadata",
    "cuda_sources",
}
_METADATA_KEYS = {
    "graph_safe",
    "dtypes",
    "architectures",
    "quant",
    "max_last_dim",
    "min_num_tokens",
    "max_num_tokens",
    "capabilities",
}
_DTYPES = ("bfloat16", "float16", "float32")
_MOST_ROWS = 64


def open_bundle(path: Path) -> Bundle:
    """Read a bundle. Nothing of it is imported, and nothing outside it is opened.

    Raises InputError, one line with file, place, expected and got, for everything that
    the bundle format does not allow."""
    root = Path(path)
    if not root.is_dir():
        got = "a file" if root.exists() else "nothing"
        raise InputError(file=str(path), expected="a bundle directory", got=got)
    if root.is_symlink():
        raise InputError(file=str(path), expected="a bundle directory", got="a link")
    try:
        entries, digest = read_tree(root)
    except OSError as error:
        raise InputError(
            file=str(path), expected="a readable tree", got=error.strerror or "an error"
        ) from error
    files = {entry.path: entry for entry in entries}
    if MANIFEST not in files:
        raise InputError(file=str(root / MANIFEST), expected="a manifest", got="nothing")
    return _Reader(root, files, digest).read()


class _Reader:
    def __init__(self, root: Path, files: Mapping[str, FileEntry], digest: str) -> None:
        self.root, self.files, self.digest = root, files, digest
        self.file = str(root / MANIFEST)
        self.warnings: list[str] = []

    def read(self) -> Bundle:
        manifest = parse_toml(read_file(self.root, MANIFEST), self.file)
        bundle_id = manifest.text("bundle_id")
        if not _ID.match(bundle_id):
            raise manifest.fail("bundle_id", "[0-9A-Za-z._-]+", repr(bundle_id))
        abi = manifest.text("abi_version")
        if abi != ABI_VERSION:
            raise manifest.fail("abi_version", ABI_VERSION, repr(abi))
        self._warn_of_extras(manifest, _TOP_KEYS)
        target_name, mode = self._competition(manifest)
        rows = self._rows(manifest)
        variants = tuple(self._variant(row, number) for number, row in enumerate(rows, 1))
        self._check_names(variants)
        self._check_disjoint(variants)
        self._check_members(variants, target_name, mode)
        return Bundle(
            path=str(self.root.resolve()),
            bundle_id=bundle_id,
            digest=self.digest,
            files=tuple(self.files.values()),
            variants=variants,
            target=target_name,
            mode=mode,
            warnings=tuple(self.warnings),
        )

    def _warn_of_extras(self, table: Table, known: set[str]) -> dict[str, Any]:
        extra = {key: value for key, value in table.values.items() if key not in known}
        for key in extra:
            self.warnings.append(f"{self.file}: {table.at(key)}: kept, given no meaning")
        return extra

    def _competition(self, manifest: Table) -> tuple[str, str]:
        competition = manifest.table("competition")
        if competition is None:
            return "", ""
        self._warn_of_extras(competition, {"target", "mode"})
        name = competition.text("target")
        mode = competition.text("mode", default="slot")
        found = target(name, file=self.file, place="competition.target")
        if mode not in ("slot", "atomic"):
            raise competition.fail("mode", "slot or atomic", repr(mode))
        if (mode == "atomic") != found.atomic:
            wanted = "atomic" if found.atomic else "slot"
            raise competition.fail("mode", f"{wanted} for {name}", mode)
        return name, mode

    def _rows(self, manifest: Table) -> list[Table]:
        rows = manifest.values.get("ops")
        if not isinstance(rows, list) or not rows:
            raise manifest.fail("ops", "one or more [[ops]] rows", "none")
        if len(rows) > _MOST_ROWS:
            raise manifest.fail("ops", f"at most {_MOST_ROWS} rows", str(len(rows)))
        tables = []
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise manifest.fail("ops", "tables", "something else")
            tables.append(Table(row, self.file, f"ops[{number}]"))
        return tables

    # --- a row -------------------------------------------------------------------------------

    def _variant(self, row: Table, number: int) -> Variant:
        contract = self._slot(row)
        source = row.path("source", self.files)
        if not source.endswith(".py"):
            raise row.fail("source", "a Python source file", repr(source))
        entry = self._identifier(row, "entry")
        prepare = self._prepare(row, contract)
        metadata = self._metadata(row)
        dtypes = self._listed("dtypes", row, metadata)
        architectures = self._listed("architectures", row, metadata)
        self._known_dtypes(row, dtypes)
        graph_safe = metadata.boolean("graph_safe")
        name = row.text("variant", default="default")
        if not _ID.match(name):
            raise row.fail("variant", "[0-9A-Za-z._-]+", repr(name))
        return Variant(
            row=number,
            slot=contract.name,
            name=name,
            source=source,
            entry=entry,
            prepare=prepare,
            dtypes=dtypes or (),
            architectures=architectures or (),
            domain=self._domain(row, metadata, dtypes, architectures, graph_safe),
            graph_safe=graph_safe,
            cuda_sources=self._cuda_sources(row),
            extra=self._warn_of_extras(row, _ROW_KEYS),
        )

    def _slot(self, row: Table) -> Slot:
        name = row.text("slot")
        try:
            return slot(name)
        except InputError as error:
            raise row.fail("slot", error.expected, repr(name)) from error

    def _identifier(self, row: Table, key: str) -> str:
        name = row.text(key)
        if not name.isidentifier():
            raise row.fail(key, "the name of a callable", repr(name))
        return name

    def _prepare(self, row: Table, contract: Slot) -> str:
        if "prepare" not in row.values:
            if contract.prepare:
                raise row.fail(
                    "prepare", f"a load-time callable: {contract.name} has one", "nothing"
                )
            return ""
        if not contract.prepare:
            raise row.fail("prepare", f"nothing: {contract.name} prepares nothing", "a callable")
        return self._identifier(row, "prepare")

    def _metadata(self, row: Table) -> Table:
        if "metadata" not in row.values:
            return Table({}, self.file, row.place)
        name = row.path("metadata", self.files)
        return parse_json(read_file(self.root, name), str(self.root / name))

    def _listed(self, key: str, row: Table, metadata: Table) -> tuple[str, ...] | None:
        """The row's list and the metadata's, intersected; None where neither has one."""
        field = key.removesuffix("s")
        lists = []
        for table in (row, metadata):
            values = table.texts(key)
            if values is not None:
                lists.append(tuple(dict.fromkeys(text_value(field, value) for value in values)))
        if not lists:
            return None
        both = tuple(value for value in lists[0] if all(value in other for other in lists))
        if not both:
            what = "values that row and metadata share" if len(lists) == 2 else "at least one value"
            raise row.fail(key, what, "none")
        return both

    def _known_dtypes(self, row: Table, dtypes: tuple[str, ...] | None) -> None:
        for dtype in dtypes or ():
            if dtype not in _DTYPES:
                raise row.fail("dtypes", " or ".join(_DTYPES), repr(dtype))

    def _domain(
        self,
        row: Table,
        metadata: Table,
        dtypes: tuple[str, ...] | None,
        architectures: tuple[str, ...] | None,
        graph_safe: bool | None,
    ) -> Domain:
        capabilities = metadata.table("capabilities")
        domain = Domain()
        if capabilities is not None:
            domain = parse_domain(capabilities.values, metadata.file)
        if dtypes is not None:
            domain = domain.restrict("dtype", Constraint(values=dtypes))
        if architectures is not None:
            domain = domain.restrict("architecture", Constraint(values=architectures))
        quant = metadata.texts("quant")
        if quant is not None:
            domain = domain.restrict("quant", Constraint(values=quant))
        for key, field in (("max_last_dim", "last_dim"), ("max_num_tokens", "num_tokens")):
            most = metadata.whole(key)
            if most is not None:
                domain = domain.restrict(field, Constraint(high=most))
        least = metadata.whole("min_num_tokens")
        if least is not None:
            domain = domain.restrict("num_tokens", Constraint(low=least, declared_low=True))
        if domain.empty_field:
            raise row.fail(
                domain.empty_field, "a domain that some call can satisfy", "an empty one"
            )
        mode = domain.fields.get("graph_mode")
        if graph_safe is False and mode is not None and not mode.admits("eager"):
            raise InputError(
                file=metadata.file,
                place="graph_safe",
                expected="true beside graph_mode = cuda_graph",
                got="false, which no call can satisfy",
            )
        return domain

    def _cuda_sources(self, row: Table) -> tuple[str, ...]:
        declared = []
        for name in row.texts("cuda_sources") or ():
            path = row.checked_path("cuda_sources", name, self.files)
            if not path.endswith((".cu", ".cuh")):
                raise row.fail("cuda_sources", ".cu or .cuh files", repr(name))
            declared.append(path)
        return tuple(declared)

    # --- rows together -------------------------------------------------------------------------

    def _check_names(self, variants: tuple[Variant, ...]) -> None:
        for name in SLOTS:
            rows = [variant for variant in variants if variant.slot == name]
            seen: set[str] = set()
            for variant in rows:
                if variant.name in seen:
                    raise InputError(
                        file=self.file,
                        place=f"ops[{variant.row}].variant",
                        expected=f"a name of its own among the rows of {name}",
                        got=repr(variant.name),
                    )
                seen.add(variant.name)

    def _check_disjoint(self, variants: tuple[Variant, ...]) -> None:
        for one, other in itertools.combinations(variants, 2):
            if one.slot == other.slot and not disjoint(one.domain, other.domain):
                raise InputError(
                    file=self.file,
                    place=f"ops[{other.row}]",
                    expected=f"a domain that shares no call with variant {one.name!r}",
                    got=f"variant {other.name!r} overlaps it",
                )

    def _check_members(self, variants: tuple[Variant, ...], name: str, mode: str) -> None:
        if not name:
            return
        present = {variant.slot for variant in variants}
        for member in target(name).members:
            if member not in present:
                raise InputError(
                    file=self.file,
                    place="competition.target",
                    expected=f"a row for {member}",
                    got="none",
                )
