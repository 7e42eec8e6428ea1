"""A bundle, once it has been read: records only, nothing of it imported."""

from typing import Any

from cacheon.contract.domain import Domain
from cacheon.records.strict import Record


class FileEntry(Record):
    """One file: bundle-relative path, size in bytes, digest, executable bit."""

    path: str
    size: int
    digest: str
    executable: bool


class Variant(Record, kw_only=True):
    """One row of the manifest with its metadata folded in. `row` counts from 1."""

    row: int
    slot: str
    name: str
    source: str
    entry: str
    prepare: str = ""
    dtypes: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    domain: Domain
    graph_safe: bool | None = None
    cuda_sources: tuple[str, ...] = ()
    extra: dict[str, Any] = {}


class Bundle(Record, kw_only=True):
    """`digest` names the whole tree. `target` is empty where no competition is declared."""

    path: str
    bundle_id: str
    digest: str
    files: tuple[FileEntry, ...]
    variants: tuple[Variant, ...]
    target: str = ""
    mode: str = ""
    warnings: tuple[str, ...] = ()
