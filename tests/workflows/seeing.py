"""An examination on an invented H200: every course is walked in full, and rows say so."""

from collections.abc import Callable
from typing import Literal

import msgspec
from tests.workflows.fake import FakeExamination, Judge, passes

from cacheon.engine.outcome import ORDERS, CaseRow, OrderResult, Stage, VariantOutcome
from cacheon.engine.request import (
    DeviceFacts,
    Progress,
    RunSettings,
    SeenDevice,
    VariantRequest,
)

STAGES: tuple[Stage, ...] = (
    "load",
    "warmup",
    "eager",
    "capture",
    "replay",
    "perturb",
    "soak",
)
Stop = Callable[[VariantRequest], None]


def goes_on(_: VariantRequest) -> None:
    """Nothing stops it."""


class SeeingExamination(FakeExamination):
    """`before` is called with each request, and may raise: so a process is killed."""

    torch = "2.11.0"

    def __init__(
        self,
        settings: RunSettings,
        watch: Callable[[Progress], None],
        judge: Judge = passes,
        before: Stop = goes_on,
    ) -> None:
        super().__init__(settings, watch, judge)
        self.before = before

    def facts(self) -> DeviceFacts:
        device: Literal["cuda", "cpu"] = self.settings.device
        return DeviceFacts(
            device=device,
            name="NVIDIA H200",
            architecture="sm90",
            torch=self.torch,
            cuda="13.0",
            driver="580.1",
            triton="3.6.0",
            devices=(SeenDevice(name="NVIDIA H200", architecture="sm90", memory=143_000),),
        )

    def examine(self, request: VariantRequest, *, last: bool = False) -> VariantOutcome:
        self.before(request)
        outcome = super().examine(request, last=last)
        return msgspec.structs.replace(
            outcome,
            backend="cuda",
            isolation=self.settings.isolation,
            rows=tuple(self._walked(row) for row in outcome.rows),
            probes=("growth", "perturb"),
            compilers=("triton",),
        )

    def _walked(self, row: CaseRow) -> CaseRow:
        if row.status != "ok":
            return row
        orders = tuple(
            OrderResult(
                order=order,
                stages=STAGES,
                replays_completed=self.settings.replays,
                replays_passed=self.settings.replays,
                soak_completed=self.settings.soak,
                soak_passed=self.settings.soak,
            )
            for order in ORDERS
        )
        return msgspec.structs.replace(row, orders=orders)
