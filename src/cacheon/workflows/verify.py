"""`verify`: bundles in, outcomes out."""

import os
import platform
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

import msgspec

import cacheon
from cacheon.bundle import Bundle, open_bundle, take_snapshot
from cacheon.engine.host.examination import Examination
from cacheon.engine.outcome import BundleOutcome, RunOutcome, VariantOutcome
from cacheon.engine.request import (
    Budget,
    Device,
    DeviceFacts,
    Progress,
    RunSettings,
    VariantRequest,
)
from cacheon.records.errors import (
    CacheonError,
    GraphProofUnavailable,
    InfrastructureError,
    InputError,
)
from cacheon.scan.source import check_source
from cacheon.workflows import exits
from cacheon.workflows.options import Options
from cacheon.workflows.selection import request_for, select

Watch = Callable[[Progress], None]
SOAK: dict[Device, int] = {"cuda": 256, "cpu": 64}


class Examiner(Protocol):
    """What a workflow needs of an examination; the engine's is `Examination`."""

    def __enter__(self) -> "Examiner": ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def facts(self) -> DeviceFacts: ...

    def examine(self, request: VariantRequest) -> VariantOutcome: ...


def _nobody(_: Progress) -> None:
    """Nobody watches."""


def has_gpu() -> bool:
    """Whether the kernel shows an NVIDIA device; asked without torch."""
    return Path("/dev/nvidiactl").exists()


def settings_for(options: Options) -> RunSettings:
    """The settings of a run. Raises GraphProofUnavailable where graph proof is demanded
    of a CPU."""
    device: Device = "cuda" if has_gpu() else "cpu"
    if options.device != "auto":
        device = options.device
    if options.require_graph and device == "cpu":
        raise GraphProofUnavailable(
            "--require-graph: no graph can be captured on a CPU; use --device cuda on a machine "
            "with a GPU"
        )
    return RunSettings(
        device=device,
        seed=secrets.randbits(48) if options.seed is None else options.seed,
        replays=options.replays,
        soak=SOAK[device] if options.soak is None else options.soak,
        isolation=options.isolation,
        budget=Budget(command=options.timeout, compile=options.compile_timeout),
    )


def verify(
    paths: Sequence[Path],
    options: Options,
    watch: Watch = _nobody,
    *,
    start: Callable[[RunSettings, Watch], Examiner] = Examination,
) -> RunOutcome:
    """Examine bundles, one after the other, with one zygote.

    An unusable bundle does not stop the others. Raises CacheonError only for what
    concerns the command as a whole (options, device)."""
    settings = settings_for(options)
    with start(settings, watch) as examiner:
        return examine_all(paths, options, settings, examiner)


def examine_all(
    paths: Sequence[Path], options: Options, settings: RunSettings, examiner: Examiner
) -> RunOutcome:
    """Examine bundles with an examination that is already running (watch mode)."""
    directory = Path(tempfile.mkdtemp(prefix="cacheon-snapshots-"))
    try:
        # The zygote is importing meanwhile: what is only paper is read first.
        opened = [_open(path, directory / str(i)) for i, path in enumerate(paths)]
        facts = None
        outcomes = []
        for path, (bundle, snapshot, error) in zip(paths, opened, strict=True):
            if bundle is None or error is not None:
                outcomes.append(_unusable(path, error))
                continue
            facts = facts or examiner.facts()
            outcomes.append(_one(bundle, snapshot, options, settings, facts, examiner))
        return RunOutcome(
            seed=settings.seed,
            device=settings.device,
            dtype=options.dtype,
            environment=_environment(facts),
            bundles=tuple(outcomes),
            exit_code=exits.gravest(outcome.exit_code for outcome in outcomes),
        )
    finally:
        _remove(directory)


def _open(path: Path, directory: Path) -> tuple[Bundle | None, Path, CacheonError | None]:
    try:
        bundle = open_bundle(path)
        check_source(bundle)
        return bundle, take_snapshot(bundle, directory), None
    except CacheonError as error:
        return None, directory, error


def _unusable(path: Path, error: CacheonError | None) -> BundleOutcome:
    return BundleOutcome(
        path=str(path),
        error=error.message if error else "unusable",
        exit_code=error.exit_code if error else exits.UNUSABLE,
    )


def _one(
    bundle: Bundle,
    snapshot: Path,
    options: Options,
    settings: RunSettings,
    facts: DeviceFacts,
    examiner: Examiner,
) -> BundleOutcome:
    started = time.monotonic()
    variants: list[VariantOutcome] = []
    left: list[str] = []
    error: CacheonError | None = None
    try:
        chosen, left = select(bundle, options)
        requests = [request_for(row, snapshot, options, facts, settings.seed) for row in chosen]
        variants = [examiner.examine(request) for request in requests]
    except (InputError, InfrastructureError) as caught:
        error = caught
    outcome = BundleOutcome(
        path=bundle.path,
        bundle_id=bundle.bundle_id,
        digest=bundle.digest,
        warnings=bundle.warnings,
        not_selected=tuple(left),
        variants=tuple(variants),
        error=error.message if error else "",
        exit_code=error.exit_code if error else 0,
        seconds=round(time.monotonic() - started, 3),
    )
    code = exits.of_bundle(outcome, settings.device)
    return msgspec.structs.replace(outcome, exit_code=code)


def _environment(facts: DeviceFacts | None) -> dict[str, str]:
    known = {"cacheon": cacheon.__version__, "python": platform.python_version()}
    if facts is not None:
        known["device"] = facts.name
        for name in ("architecture", "torch", "cuda", "driver", "triton", "cuda_bindings"):
            known[name] = getattr(facts, name)
    return {name: value for name, value in known.items() if value}


def _remove(directory: Path) -> None:
    """Snapshots are read-only; their directories are ours to open again."""
    for parent, _, _ in os.walk(directory):
        os.chmod(parent, 0o700)
    shutil.rmtree(directory, ignore_errors=True)
