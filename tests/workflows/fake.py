"""An examination that starts nothing: it implements the interface of the engine's."""

from collections.abc import Callable
from types import TracebackType

from cacheon.engine.outcome import CaseRow, Finding, Place, VariantOutcome
from cacheon.engine.request import DeviceFacts, Progress, RunSettings, VariantRequest
from cacheon.engine.verdict import verdict_of
from cacheon.records.errors import CacheonError

Judge = Callable[[VariantRequest], CacheonError | str]


def passes(_: VariantRequest) -> str:
    return "ok"


class FakeExamination:
    """`judge` gives the status of every applicable row, or the error to raise."""

    started = 0

    def __init__(
        self, settings: RunSettings, watch: Callable[[Progress], None], judge: Judge = passes
    ) -> None:
        self.settings, self.watch, self.judge = settings, watch, judge
        self.requests: list[VariantRequest] = []
        self.seeds = [settings.seed]
        FakeExamination.started += 1

    def __enter__(self) -> "FakeExamination":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def facts(self) -> DeviceFacts:
        return DeviceFacts(
            device=self.settings.device, name="fake", architecture="sm90", torch="2.13.0"
        )

    def reseed(self, settings: RunSettings) -> None:
        self.seeds.append(settings.seed)

    def examine(self, request: VariantRequest, *, last: bool = False) -> VariantOutcome:
        self.requests.append(request)
        said = self.judge(request)
        if isinstance(said, CacheonError):
            raise said
        rows = tuple(self._row(request, index, said) for index in range(len(request.cases)))
        verdict = verdict_of(
            rows, device=self.settings.device, graph=request.graph, needs_cuda=False
        )
        return VariantOutcome(
            slot=request.slot,
            variant=request.variant,
            dtype=request.dtype,
            backend="rehearsal",
            isolation=self.settings.isolation,
            word=verdict.word,
            graph=verdict.graph,
            rehearsal=verdict.rehearsal,
            graph_replays=self.settings.replays if request.graph else 0,
            soak_replays=self.settings.soak if request.graph else 0,
            domain=request.domain,
            entry=request.candidate.entry,
            source=request.candidate.source,
            rows=rows,
            notes=request.notes,
        )

    def _row(self, request: VariantRequest, index: int, said: str) -> CaseRow:
        case = request.cases[index]
        fails = said == "fail" and case.applicable
        finding = Finding(
            rule="CG203",
            stage="replay",
            message="50.0 % of out still poisoned",
            place=Place(file="kernels/k.py", line=9, function="f", source="out[::2] = x"),
        )
        return CaseRow(
            label=case.label,
            descriptor=case.descriptor,
            origin=case.origin,
            applicable=case.applicable,
            status="fail" if fails else "ok" if case.applicable else "not_applicable",
            failure="replay" if fails else "none" if case.applicable else "not_applicable",
            stage="replay" if fails else None,
            findings=(finding,) if fails else (),
            max_abs=(0.0078125).hex(),
        )
