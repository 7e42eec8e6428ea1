"""`verify`: bundles in, outcomes out."""

import os
import platform
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

import msgspec

import cacheon
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
    one_line,
)
from cacheon.workflows import exits
from cacheon.workflows.opening import Opened, Unusable, copied, opened
from cacheon.workflows.options import Options
from cacheon.workflows.selection import given_context, request_for

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

    def reseed(self, settings: RunSettings) -> None: ...

    def examine(self, request: VariantRequest, *, last: bool = False) -> VariantOutcome: ...


Start = Callable[[RunSettings, Watch], Examiner]


def _nobody(_: Progress) -> None:
    """Nobody watches."""


def has_gpu() -> bool:
    """Whether the kernel shows an NVIDIA device that is not hidden from this process;
    asked without torch."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    return Path("/dev/nvidiactl").exists() and not hidden


def settings_for(options: Options) -> RunSettings:
    """The settings of a run. Raises GraphProofUnavailable where graph proof is demanded
    of a CPU, InputError for a context that no call has."""
    given_context(options.context)
    refuse_ranks(options)
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


def refuse_ranks(options: Options) -> None:
    """Raises InputError for ranks that make no group of all of them, each in a process."""
    if options.tp_size not in (None, options.world_size):
        raise InputError(
            place="--tp-size",
            expected=f"{options.world_size}, the world size: one group of all ranks",
            got=str(options.tp_size),
        )
    if options.world_size > 1 and options.isolation == "inline":
        raise InputError(
            place="--isolation", expected="process, for ranks have one each", got="inline"
        )


def verify(
    paths: Sequence[Path],
    options: Options,
    watch: Watch = _nobody,
    *,
    start: Start = Examination,
) -> RunOutcome:
    """Examine bundles, one after the other, with one zygote.

    An unusable bundle does not stop the others, and where all of them are, nothing is
    started. Raises CacheonError only for what concerns the command as a whole (options,
    device)."""
    settings = settings_for(options)
    with opened(paths, options) as bundles:
        if all(isinstance(bundle, Unusable) for bundle in bundles):
            return examine_all(bundles, options, settings, None)
        settings = msgspec.structs.replace(
            settings, scratch=(str(bundles.directory),), triton=bundles.may_compile()
        )
        with start(settings, watch) as examiner:
            return examine_all(bundles, options, settings, examiner, last=True)


def examine_all(
    bundles: Sequence[Opened | Unusable],
    options: Options,
    settings: RunSettings,
    examiner: Examiner | None,
    *,
    last: bool = False,
) -> RunOutcome:
    """Examine opened bundles; `examiner` may be None where none of them is usable. `last`:
    nothing is examined after them."""
    facts: DeviceFacts | None = None
    outcomes = []
    usable = [bundle for bundle in bundles if isinstance(bundle, Opened)]
    for bundle in bundles:
        if isinstance(bundle, Unusable) or examiner is None:
            outcomes.append(_unusable(bundle))
            continue
        facts = facts or examiner.facts()
        ends = last and bundle is usable[-1]
        outcomes.append(_one(bundle, options, settings, facts, examiner, ends))
    dtypes = dict.fromkeys(v.dtype for outcome in outcomes for v in outcome.variants)
    return RunOutcome(
        seed=settings.seed,
        device=settings.device,
        dtype=",".join(dtypes) or options.dtype,
        environment=_environment(facts),
        bundles=tuple(outcomes),
        exit_code=exits.gravest(outcome.exit_code for outcome in outcomes),
    )


def _unusable(bundle: Opened | Unusable) -> BundleOutcome:
    if isinstance(bundle, Opened):
        raise InfrastructureError("no examination was started for a usable bundle")
    return BundleOutcome(
        path=one_line(str(bundle.path)), error=bundle.message, exit_code=bundle.exit_code
    )


def _one(
    opened_bundle: Opened,
    options: Options,
    settings: RunSettings,
    facts: DeviceFacts,
    examiner: Examiner,
    last: bool,
) -> BundleOutcome:
    """Examine one bundle's rows; what was seen before an error stands beside it."""
    started = time.monotonic()
    bundle = opened_bundle.bundle
    variants: list[VariantOutcome] = []
    left = list(opened_bundle.not_selected)
    error: CacheonError | None = None
    try:
        snapshot = copied(opened_bundle)
        requests = _requests(opened_bundle, snapshot, options, settings, facts, left)
        for request in requests:
            ends = last and request is requests[-1]
            variants.append(examiner.examine(request, last=ends))
    except (InputError, InfrastructureError) as caught:
        error = caught
    outcome = BundleOutcome(
        path=one_line(str(opened_bundle.path)),
        bundle_id=bundle.bundle_id,
        digest=bundle.digest,
        warnings=bundle.warnings,
        not_selected=tuple(left),
        scanned=opened_bundle.scanned,
        variants=tuple(variants),
        error=error.message if error else "",
        seconds=round(time.monotonic() - started, 3),
    )
    code = exits.of_bundle(outcome, error.exit_code if error else 0, settings.device)
    return msgspec.structs.replace(outcome, exit_code=code)


def _requests(
    opened_bundle: Opened,
    snapshot: Path,
    options: Options,
    settings: RunSettings,
    facts: DeviceFacts,
    left: list[str],
) -> list[VariantRequest]:
    """What to examine; rows of which `--case` names no case are added to `left`. Raises
    InputError where it names none of any row."""
    requests = []
    for row in opened_bundle.chosen:
        request = request_for(row, snapshot, options, facts, settings.seed)
        if request.cases:
            requests.append(request)
        else:
            left.append(f"{row.slot} variant={row.name}: no case is named by --case")
    if not requests:
        raise InputError(
            file=str(opened_bundle.path),
            place="--case",
            expected="part of a case's label (`cacheon slots NAME` lists them)",
            got=", ".join(map(repr, options.cases)),
        )
    return requests


def _environment(facts: DeviceFacts | None) -> dict[str, str]:
    known = {"cacheon": cacheon.__version__, "python": platform.python_version()}
    if facts is not None:
        known["device"] = facts.name
        for name in ("architecture", "torch", "cuda", "driver", "triton", "cuda_bindings"):
            known[name] = getattr(facts, name)
    return {name: value for name, value in known.items() if value}
