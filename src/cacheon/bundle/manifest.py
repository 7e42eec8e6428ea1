"""manifest.toml and the metadata of its rows, read as data."""

import itertools
import keyword
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cacheon.bundle.model import Bundle, FileEntry, Variant
from cacheon.bundle.tree import is_shipped, read_file, read_tree
from cacheon.contract.descriptor import text_value
from cacheon.contract.domain import Constraint, Domain, overlap, parse_domain
from cacheon.contract.slots import slot
from cacheon.contract.slots.model import Slot
from cacheon.contract.targets import target
from cacheon.records.errors import InputError, one_line
from cacheon.records.fields import Table, parse_json, parse_toml

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
    try:
        mode = os.lstat(root).st_mode
        if not stat.S_ISDIR(mode):
            got = "a link" if stat.S_ISLNK(mode) else "something else"
            raise InputError(file=str(path), expected="a bundle directory", got=got)
        entries, digest = read_tree(root)
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL in it.
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(
            file=str(path), expected="a readable bundle directory", got=reason or "no path"
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
        self._check_names(variants, rows)
        self._check_executables(variants)
        self._check_disjoint(variants)
        self._check_members(variants, target_name)
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
            self.warnings.append(
                one_line(
                    f"{self.file}: {table.at(key)}: unknown key, kept and given no meaning", 300
                )
            )
        return extra

    def _competition(self, manifest: Table) -> tuple[str, str]:
        competition = manifest.table("competition")
        if competition is None:
            return "", ""
        self._warn_of_extras(competition, {"target", "mode"})
        name = competition.text("target")
        found = target(name, file=self.file, place="competition.target")
        mode = competition.text("mode", default="atomic" if found.atomic else "slot")
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
        domain = self._domain(row, metadata)
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
            dtypes=self._known_dtypes(row, self._declared("dtypes", domain, row, metadata)),
            architectures=self._declared("architectures", domain, row, metadata),
            domain=domain,
            graph_safe=metadata.boolean("graph_safe"),
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
        if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
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

    def _lists(self, key: str, *tables: Table) -> list[tuple[str, ...]]:
        """The lists of that name, in their own spelling; an empty one declares nothing."""
        lists = (table.texts(key) for table in tables)
        field = key.removesuffix("s")
        return [
            tuple(dict.fromkeys(text_value(field, value) for value in values))
            for values in lists
            if values
        ]

    def _declared(self, key: str, domain: Domain, row: Table, metadata: Table) -> tuple[str, ...]:
        """What the domain leaves of a list, in the order of the row's, else the
        metadata's; empty where nothing is declared."""
        constraint = domain.fields.get(key.removesuffix("s"))
        if constraint is None or constraint.values is None:
            return ()
        left = dict.fromkeys(map(str, constraint.values))
        lists = [*self._lists(key, row, metadata), tuple(left)]
        return tuple(value for value in lists[0] if value in left)

    def _known_dtypes(self, row: Table, dtypes: tuple[str, ...]) -> tuple[str, ...]:
        known = tuple(dtype for dtype in dtypes if dtype in _DTYPES)
        if dtypes and not known:
            raise row.fail("dtypes", " or ".join(_DTYPES), ", ".join(map(repr, dtypes)))
        return known

    def _domain(self, row: Table, metadata: Table) -> Domain:
        """Capabilities, lists and limits together. Raises InputError where they exclude
        every call."""
        capabilities = metadata.table("capabilities")
        domain = Domain()
        if capabilities is not None:
            domain = parse_domain(capabilities.values, metadata.file)
            self._refuse_empty(metadata, domain)
        for key in ("dtypes", "architectures"):
            for values in self._lists(key, row, metadata):
                domain = domain.restrict(key.removesuffix("s"), Constraint(values=values))
            self._refuse_empty(row, domain, key)
        for values in self._lists("quant", metadata):
            domain = domain.restrict("quant", Constraint(values=values))
        for key, field in (("max_last_dim", "last_dim"), ("max_num_tokens", "num_tokens")):
            most = metadata.whole(key)
            if most is not None:
                domain = domain.restrict(field, Constraint(high=most))
        least = metadata.whole("min_num_tokens")
        if least is not None:
            domain = domain.restrict("num_tokens", Constraint(low=least, declared_low=True))
        self._refuse_empty(metadata, domain)
        mode = domain.fields.get("graph_mode")
        only_graphs = mode is not None and mode.values == ("cuda_graph",)
        if only_graphs and metadata.boolean("graph_safe") is False:
            raise InputError(
                file=metadata.file,
                place="graph_safe",
                expected="true beside graph_mode = cuda_graph",
                got="false, which no call can satisfy",
            )
        return domain

    def _refuse_empty(self, blamed: Table, domain: Domain, key: str = "") -> None:
        if not domain.is_empty:
            return
        expected = f"a domain in which {domain.empty_field} can have some value"
        if key:
            expected = "values that the row's list and the metadata have in common"
        raise blamed.fail(key or domain.empty_field, expected, "none" if key else "an empty one")

    def _cuda_sources(self, row: Table) -> tuple[str, ...]:
        declared = []
        for name in row.texts("cuda_sources") or ():
            path = row.checked_path("cuda_sources", name, self.files)
            if not path.endswith((".cu", ".cuh")):
                raise row.fail("cuda_sources", ".cu or .cuh files", repr(name))
            declared.append(path)
        return tuple(declared)

    # --- rows together -------------------------------------------------------------------------

    def _check_names(self, variants: tuple[Variant, ...], rows: list[Table]) -> None:
        """A slot with several rows names every one of them, and no two alike."""
        for slot_name, group in itertools.groupby(
            sorted(variants, key=lambda each: each.slot), key=lambda each: each.slot
        ):
            together = list(group)
            seen: set[str] = set()
            for variant in together:
                row = rows[variant.row - 1]
                if len(together) > 1 and "variant" not in row.values:
                    raise row.fail("variant", f"a name: {slot_name} has several rows", "nothing")
                if variant.name in seen:
                    raise row.fail(
                        "variant", f"a name of its own among {slot_name}", repr(variant.name)
                    )
                seen.add(variant.name)

    def _check_executables(self, variants: tuple[Variant, ...]) -> None:
        declared = {name for each in variants for name in (each.source, *each.cuda_sources)}
        for entry in self.files.values():
            if entry.executable and entry.path not in declared and not is_shipped(self.root):
                raise InputError(
                    file=str(self.root),
                    place=entry.path,
                    expected="no executable that no row declares",
                    got="an executable bit (chmod -x)",
                )

    def _check_disjoint(self, variants: tuple[Variant, ...]) -> None:
        for slot_name in dict.fromkeys(each.slot for each in variants):
            together = [each for each in variants if each.slot == slot_name]
            found = overlap([each.domain for each in together])
            if found is not None:
                one, other = (together[place] for place in found)
                raise InputError(
                    file=self.file,
                    place=f"ops[{other.row}]",
                    expected=f"a domain that shares no call with variant {one.name!r}",
                    got=f"variant {other.name!r} overlaps it",
                )

    def _check_members(self, variants: tuple[Variant, ...], name: str) -> None:
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
