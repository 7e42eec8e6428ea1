"""What has been seen of each case so far, and the row that is made of it."""

from collections.abc import Iterable, Sequence

from cacheon.contract.case import Case
from cacheon.engine.grader.blamed import rule_of_line
from cacheon.engine.outcome import (
    CaseRow,
    FailureClass,
    Finding,
    OrderName,
    OrderResult,
    RankResult,
    Stage,
    Status,
)
from cacheon.engine.protocol import Where

CLASS_OF: dict[Stage, FailureClass] = {
    "load": "eager",
    "prepare": "eager",
    "warmup": "eager",
    "eager": "eager",
    "capture": "capture",
    "replay": "replay",
    "perturb": "replay",
    "burst": "replay",
    "soak": "replay",
}
"""The class of a failure by the stage it shows in."""


_MOST_HINTS = 4
_NEEDS_CUDA = "needs CUDA"
_NOT_ANSWERS = {"CG104", "CG901", "CG902", "CG903", "CG904", "CG806", "CG805"}


class Tally:
    """How far one order of one case has come."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.replays_completed = 0
        self.replays_passed = 0
        self.soak_completed = 0
        self.soak_passed = 0
        self.seconds_a_replay = 0.0
        self.captured = False
        self.replays_asked = -1
        """How many the course set out to do; -1 before it came to them."""
        self.soak_asked = -1
        self.ahead: frozenset[int] = frozenset()
        """Ranks that were right in the step in which another was not."""

    def passed(self, stage: Stage) -> None:
        if stage not in self.stages:
            self.stages.append(stage)


class Page:
    """Everything seen of one case."""

    def __init__(self, case: Case, ranks: int = 1) -> None:
        self.case, self.world = case, ranks
        self.findings: list[Finding] = []
        self.tallies: dict[OrderName, Tally] = {}
        self.max_abs = 0.0
        self.max_relative = 0.0
        self.company: str = ""
        self.nodes: dict[str, int] = {}
        self.notes: list[str] = []
        self.compared: list[bool] = []
        """Of each right replay, whether all ranks answered bit for bit the same."""
        self.infrastructure = ""
        self.needs_cuda = False
        """In some order the candidate asked for what only a device has."""
        self._checked = False
        self._waits: list[Where] = []
        """Lines of the candidate that waited for the device in a warm-up."""
        self._barriers: list[Where] = []
        """Those at which its ranks met in a barrier in eager calls."""
        self.rank: int | None = None
        """The rank that is to blame, where there are several and one is known."""
        self.unplaced = False
        """The failure was an exception without a line of the candidate."""

    @property
    def failed(self) -> bool:
        return bool(self.findings)

    @property
    def settled(self) -> bool:
        """Nothing more is to be learnt of this case. One that asks for a device once its
        eager check is through, as it is captured, has still to be right in the next order."""
        if self.failed or self.infrastructure:
            return True
        return self.needs_cuda and not self._was_checked

    @property
    def _was_checked(self) -> bool:
        return self._checked or any("eager" in tally.stages for tally in self.tallies.values())

    @property
    def comparable(self) -> bool:
        """The failure is a wrong answer, not an exception and not a lost worker: whether
        it also shows alone tells something."""
        rule = self.findings[0].rule
        return self.findings[0].place is None and not self.unplaced and rule not in _NOT_ANSWERS

    @property
    def is_of_ranks(self) -> bool:
        """It is what ranks came to together, and no line of the candidate, that is wrong."""
        return self.world > 1 and self.failed and self.findings[0].place is None

    def tally(self, order: OrderName) -> Tally:
        return self.tallies.setdefault(order, Tally())

    def restart(self, order: OrderName) -> None:
        self._checked = self._was_checked
        self.tallies[order] = Tally()

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def waited(self, places: Iterable[Where]) -> None:
        self._waits += [where for where in places if where not in self._waits]

    def met(self, places: Iterable[Where]) -> None:
        self._barriers += [where for where in places if where not in self._barriers]

    def measure(self, max_abs: float, max_relative: float) -> None:
        self.max_abs = max(self.max_abs, max_abs)
        self.max_relative = max(self.max_relative, max_relative)

    def complete(self, orders: Sequence[OrderName], graph: bool) -> str:
        """Empty where every order walked the whole course; else what is missing."""
        if self.needs_cuda:
            said = [note for note in self.notes if note.startswith(_NEEDS_CUDA)]
            return "" if self._reached("eager", orders) else (*said, _NEEDS_CUDA)[0]
        for order in orders:
            tally = self.tallies.get(order)
            if tally is None or "eager" not in tally.stages:
                return f"the {order} order did not reach the eager check"
            asked = (tally.replays_asked, tally.soak_asked)
            if graph and (tally.replays_passed, tally.soak_passed) != asked:
                return (
                    f"the {order} order ended after {tally.replays_passed} replays "
                    f"and {tally.soak_passed} in bursts"
                )
        return ""

    def _reached(self, stage: Stage, orders: Sequence[OrderName]) -> bool:
        return all(stage in self.tally(order).stages for order in orders)

    def row(self) -> CaseRow:
        status: Status = "ok"
        failure: FailureClass = "none"
        if not self.case.applicable:
            status, failure = "not_applicable", "not_applicable"
        elif self.findings:
            status = "fail"
            failure = CLASS_OF[self.findings[0].stage]
        elif self.infrastructure or not self.tallies:
            status = "incomplete"
        company = {"alone": "alone", "company": "company"}.get(self.company, "")
        return CaseRow(
            label=self.case.label,
            descriptor=self.case.descriptor,
            origin=self.case.origin,
            applicable=self.case.applicable,
            status=status,
            failure=failure,
            stage=self.findings[0].stage if self.findings else None,
            findings=tuple(self.findings),
            orders=tuple(_order(order, tally) for order, tally in self.tallies.items()),
            rank=self.rank if self.findings else None,
            ranks=self._ranks(),
            max_abs=self.max_abs.hex() if self.tallies else "",
            max_relative=self.max_relative.hex() if self.tallies else "",
            company=company,  # type: ignore[arg-type]
            nodes=self.nodes,
            notes=(*self.notes, *self._agreement()),
            hints=self._hints(),
            infrastructure=self.infrastructure if status == "incomplete" else "",
        )

    def _hints(self) -> tuple[str, ...]:
        """What a capture would not have survived, where none was made, and what it leaves out,
        where one was; a line that a finding names needs none."""
        captured = self.tallies and all(tally.captured for tally in self.tallies.values())
        places = self._barriers if captured else [*self._waits, *self._barriers]
        named = {(f.place.file, f.place.line) for f in self.findings if f.place is not None}
        return tuple(
            f"{where.file}:{where.line} `{where.source}`: {self._hint(where, bool(captured))}"
            for where in dict.fromkeys(places[:_MOST_HINTS])
            if (where.file, where.line) not in named
        )

    def _hint(self, where: Where, captured: bool) -> str:
        barrier = where in self._barriers
        does = "waits on the host in a barrier" if barrier else "waits for the device"
        if captured:
            return f"an eager call {does} here, which the capture leaves out"
        rule = "CG105" if barrier else rule_of_line(where.source) or "CG101"
        return f"an eager call {does} here, which a capture forbids ({rule})"

    def _agreement(self) -> tuple[str, ...]:
        if not self.compared:
            return ()
        same, total = sum(self.compared), len(self.compared)
        return (f"ranks agree bit for bit in {same} of {total} replays",)

    def _ranks(self) -> tuple[RankResult, ...]:
        """How far each rank came; none where there is one. They walk in step: only in the
        step that ends a course are some right and some not."""
        if self.world == 1:
            return ()
        return tuple(
            RankResult(
                rank=rank,
                orders=tuple(
                    _order(order, tally, ahead=rank in tally.ahead)
                    for order, tally in self.tallies.items()
                ),
            )
            for rank in range(self.world)
        )


def _order(order: OrderName, tally: Tally, *, ahead: bool = False) -> OrderResult:
    """`ahead`: the last answers were right here, though not on every rank."""
    return OrderResult(
        order=order,
        stages=tuple(tally.stages),
        replays_completed=tally.replays_completed,
        replays_passed=tally.replays_completed if ahead else tally.replays_passed,
        soak_completed=tally.soak_completed,
        soak_passed=tally.soak_completed if ahead else tally.soak_passed,
    )
