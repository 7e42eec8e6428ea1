"""One variant, examined: its orders, retries, the control, each failure alone again."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import torch

from cacheon.contract.case import Case
from cacheon.contract.slots import slot as slot_of
from cacheon.engine.grader.attribution import from_loss
from cacheon.engine.grader.book import Page
from cacheon.engine.grader.course import Course
from cacheon.engine.grader.group import Group
from cacheon.engine.grader.layout import row_bytes
from cacheon.engine.grader.questions import ask
from cacheon.engine.grader.recruits import Keeper, Recruits
from cacheon.engine.grader.session import Lost
from cacheon.engine.grader.truth import Truth
from cacheon.engine.grader.walk import Walk, note_refusal
from cacheon.engine.outcome import ORDERS, Finding, OrderName, Stage, VariantOutcome
from cacheon.engine.protocol import Ended
from cacheon.engine.request import Candidate, Progress, RunSettings, VariantRequest
from cacheon.engine.seeds import another
from cacheon.engine.verdict import verdict_of
from cacheon.records.errors import InfrastructureError

_RING_SHARE = 64
"""Staging and log of one call's ring take about this part of the free memory: the deeper,
the fewer bursts a soak needs, and the less often processes take turns on the GPU."""
_SHALLOWEST, _DEEPEST, _DEPTH_ON_CPU = 4, 64, 8
_MOST_LEAVING = 2
"""Workers that may be leaving while others work: each still holds its slab."""
_MOST_OTHERS = 6
"""Cases that are tried one by one as the company in which another goes wrong."""
_GENERIC = ("CG301", "CG304")
"""Rules that «wrong only beside other cases» explains better than they do."""
_BEFORE_OTHERS: tuple[Stage, ...] = ("warmup", "eager", "capture")
"""What the first case of an order goes through before the candidate is called for another."""
_AFTER_A_HANG = 0.25
"""Share of the deadline that further cases get once one has hung."""


class Trial(NamedTuple):
    """How one walk of the course ended: `lost` where the worker was."""

    lost: Lost | None
    ended: Ended


class Leaving(NamedTuple):
    """A worker that was told to leave, and the page that what it leaves behind goes on."""

    session: Group
    page: Page
    order: OrderName


class Examiner:
    """Examines one variant; nothing of it outlives `examine`."""

    def __init__(
        self,
        keeper: Keeper,
        request: VariantRequest,
        settings: RunSettings,
        device: torch.device,
        caches: str,
        watch: Callable[[Progress], None],
        orders: tuple[OrderName, ...] = ORDERS,
    ) -> None:
        self.keeper, self.request, self.settings = keeper, request, settings
        self.caches, self.watch, self.orders = caches, watch, orders
        self.slot = slot_of(request.slot)
        self.truth = Truth(request.slot, settings.seed, device)
        self.pages = [Page(case, request.ranks) for case in request.cases]
        self.budget = settings.budget
        self.deaths_confirmed = False
        self.control_lives: dict[int, str] = {}
        self.gone: set[int] = set()
        """Cases at which a worker was lost in this order: they are not walked again in it,
        also where that settles nothing, as where one rank alone asks for a GPU."""
        self.done = 0
        self.probes: set[str] = set()
        self.ring_bytes = 0
        if device.type == "cuda":
            self.ring_bytes = torch.cuda.mem_get_info(device)[0] // _RING_SHARE
        self.leaving: list[Leaving] = []
        self.recruits = self._recruits()

    def examine(self) -> VariantOutcome:
        applicable = [i for i, page in enumerate(self.pages) if page.case.applicable]
        # Largest first, as servers capture at start.
        applicable.sort(key=lambda i: -row_bytes(self.pages[i].case))
        if applicable and self.truth.device.type == "cuda":
            self._load_kernels(applicable[-1])
        try:
            for order in self.orders:
                self._one_order(applicable, order)
            self._each_alone_again(applicable)
        except InfrastructureError as error:
            for i in applicable:
                if not self.pages[i].failed:
                    self.pages[i].infrastructure = error.message
        finally:
            self.recruits.dismiss()
            while self.leaving:
                self._see_off()
        return self._outcome()

    def _load_kernels(self, smallest: int) -> None:
        """Draw and answer once for nobody: a GPU loads a kernel when it is first launched,
        and the workers need their time too."""
        case = self.pages[smallest].case
        values = self.truth.values(case, 0, "warm", 0, "any")
        expected = self.truth.expected(case, 0, values)
        ask([self.truth.tells(case, expected, expected)])

    # --- an order -----------------------------------------------------------------------

    def _one_order(self, applicable: Sequence[int], order: OrderName) -> None:
        self.gone = set()
        while left := self._company(applicable):
            more = order != self.orders[-1] or any(page.failed for page in self.pages)
            trial = self._walk(left, order, more=more)
            if trial.lost is None:
                self._suspect_infrastructure(left, order)
                return
            if self._after_a_loss(left, order, trial.lost, trial.ended):
                return

    def _company(self, cases: Sequence[int]) -> list[int]:
        """The cases that this order still has to walk."""
        return [i for i in cases if i not in self.gone and not self.pages[i].settled]

    def _walk(
        self,
        members: Sequence[int],
        order: OrderName,
        pages: list[Page] | None = None,
        candidate: Candidate | None = None,
        *,
        more: bool = False,
    ) -> Trial:
        """The course, once, in a fresh worker. `more`: another walk follows in any case."""
        pages = pages or [self.pages[i] for i in members]
        for page in pages:
            page.restart(order)
        cases = tuple(page.case for page in pages)
        with_larger = self.request.larger if members else None
        rows = tuple(self._depth(page) for page in pages)
        # The control's workers were never there beside one of the candidate's.
        recruits = self.recruits if candidate is None else self._recruits()
        session = self._session(cases, with_larger, rows, recruits)
        walk = Walk(
            session, pages, self.truth, self.settings, order, candidate or self.request.candidate
        )
        course = Course(walk, self.request.graph, self.caches, self._tell)
        lost: Lost | None = None
        if candidate is None:
            # A set that the walk fills: what was gone through counts, wherever it ends.
            walk.probes = self.probes
        try:
            if more and self.request.ranks > 1:
                self.recruits.call()
            course.run()
        except Lost as error:
            lost = error
        except BaseException:
            session.close()
            raise
        if lost is not None:
            return Trial(lost, session.close(lost))
        session.dismiss()
        self.leaving.append(Leaving(session, pages[0], order))
        if len(self.leaving) > _MOST_LEAVING:
            self._see_off()
        return Trial(None, Ended())

    def _session(
        self,
        cases: tuple[Case, ...],
        larger: Case | None,
        rows: tuple[int, ...],
        recruits: Recruits,
    ) -> Group:
        """Fresh workers. One that is leaving, with a candidate in it, may have kept an
        earlier attempt from coming up: then it is seen off first."""
        on_cpu = self.settings.device == "cpu"

        def opened() -> Group:
            return Group(
                self.keeper,
                self.slot,
                cases,
                larger,
                rows,
                self.budget,
                self.truth,
                on_cpu,
                recruits,
            )

        try:
            return opened()
        except InfrastructureError:
            if not self.leaving:
                raise
            while self.leaving:
                self._see_off()
            return opened()

    def _recruits(self) -> Recruits:
        return Recruits(self.keeper, self.request.ranks, self.caches, self.settings.seed)

    def _see_off(self) -> None:
        """Close the session that was dismissed first."""
        session, page, order = self.leaving.pop(0)
        ended = session.close()
        if ended.strays:
            message = (
                f"{ended.strays} process(es) left the worker's session and outlived it; killed"
            )
            page.findings.append(Finding(rule="CG904", stage="eager", message=message, order=order))

    def _depth(self, page: Page) -> int:
        if self.settings.device == "cpu":
            return _DEPTH_ON_CPU
        return max(_SHALLOWEST, min(_DEEPEST, self.ring_bytes // max(1, row_bytes(page.case))))

    def _after_a_loss(
        self, left: Sequence[int], order: OrderName, lost: Lost, ended: Ended
    ) -> bool:
        """Decide whose fault a lost worker is; whether the order is done.

        A hang is believed at once: waiting twice tells nothing new; so is what one rank of
        several met. A death must happen twice before it counts, and only while the control
        lives."""
        suspects = list(left) if lost.case < 0 else [left[lost.case]]
        if lost.how in ("hung", "parted"):
            if lost.how == "hung":
                self._shorten_deadlines()
            self._blame(suspects, order, lost, ended)
            return False
        if not self.deaths_confirmed:
            left = self._company(left)
            self._draw_afresh()
            again = self._walk(left, order)
            if again.lost is None:
                for i in suspects:
                    self.pages[i].note(f"a worker was lost once ({lost}) and not again")
                self._suspect_infrastructure(left, order)
                return True
            self.deaths_confirmed = True
            lost, ended = again.lost, again.ended
            suspects = list(left) if lost.case < 0 else [left[lost.case]]
        self._blame(suspects, order, lost, ended)
        return False

    def _draw_afresh(self) -> None:
        """Whoever dies once must not know what the next walk will ask."""
        self.settings = msgspec.structs.replace(self.settings, seed=another(self.settings.seed))
        self.truth = Truth(self.request.slot, self.settings.seed, self.truth.device)

    def _blame(self, suspects: Sequence[int], order: OrderName, lost: Lost, ended: Ended) -> None:
        trouble = self._control(suspects[0], order)
        self.gone.update(suspects)
        for i in suspects:
            page = self.pages[i]
            if trouble:
                page.infrastructure = trouble
            elif lost.refused is not None:
                note_refusal(page, lost.refused, order, self.settings.device == "cuda")
            else:
                page.rank = lost.rank if lost.rank >= 0 else None
                page.findings.append(from_loss(lost, ended, order))

    def _shorten_deadlines(self) -> None:
        budget = self.budget
        self.budget = msgspec.structs.replace(
            budget,
            command=max(2.0, budget.command * _AFTER_A_HANG),
            compile=max(5.0, budget.compile * _AFTER_A_HANG),
        )

    # --- whose fault it is ----------------------------------------------------------------

    def _control(self, case: int, order: OrderName) -> str:
        """Empty where the control walks the same course on this case; else what it met."""
        control = self.request.control
        if control is None:
            return ""
        if case not in self.control_lives:
            page = Page(self.pages[case].case, self.request.ranks)
            trial = self._walk([case], order, [page], control)
            if trial.lost is not None:
                self.control_lives[case] = (
                    f"the control was lost too: {trial.lost} {trial.lost.detail}".strip()
                )
            elif page.findings:
                self.control_lives[case] = f"the control fails too: {page.findings[0].message}"
            else:
                self.control_lives[case] = ""
        return self.control_lives[case]

    def _suspect_infrastructure(self, members: Sequence[int], order: OrderName) -> None:
        """A failure without a line of the candidate counts only while the control lives. So
        does a wrong answer of ranks, which much lies between: there the control of one case
        speaks for all."""
        answers = [i for i in members if self.pages[i].is_of_ranks]
        if answers and (trouble := self._control(answers[0], order)):
            for i in answers:
                self.pages[i].findings.clear()
                self.pages[i].infrastructure = trouble
        for i in members:
            page = self.pages[i]
            if page.failed and page.unplaced:
                trouble = self._control(i, order)
                if trouble:
                    page.findings.clear()
                    page.infrastructure = trouble

    def _each_alone_again(self, applicable: Sequence[int]) -> None:
        """A case that failed in company, without a line of its own, is tried alone."""
        if len(applicable) < 2:
            return
        unclear = []
        for i in applicable:
            page = self.pages[i]
            if page.failed and page.comparable:
                if self._was_alone_so_far(i, applicable):
                    page.company = "alone"
                else:
                    unclear.append(i)
        for i in unclear:
            page = self.pages[i]
            order = page.findings[0].order or self.orders[0]
            single = Page(page.case, self.request.ranks)
            trial = self._walk([i], order, [single], more=i != unclear[-1])
            alone = trial.lost is not None or single.failed
            page.company = "alone" if alone else "company"
            if not alone:
                self._find_the_other(i, [j for j in applicable if j != i], order)

    def _was_alone_so_far(self, i: int, applicable: Sequence[int]) -> bool:
        """Whether a case failed before the candidate was called for any other."""
        finding = self.pages[i].findings[0]
        first = applicable[-1] if finding.order == "ascending" else applicable[0]
        return i == first and finding.stage in _BEFORE_OTHERS

    def _find_the_other(self, i: int, others: Sequence[int], order: OrderName) -> None:
        """Say beside which other case a case goes wrong that is right by itself."""
        page = self.pages[i]
        for j in others[:_MOST_OTHERS]:
            # Of the two the larger is first, as in the company.
            pair = sorted((i, j), key=lambda k: -row_bytes(self.pages[k].case))
            pages = {k: Page(self.pages[k].case, self.request.ranks) for k in pair}
            trial = self._walk(pair, order, [pages[k] for k in pair])
            if trial.lost is None and pages[i].failed:
                finding = page.findings[0]
                page.findings[0] = msgspec.structs.replace(
                    finding,
                    rule="CG702" if finding.rule in _GENERIC else finding.rule,
                    message=f"{finding.message}; wrong beside {self.pages[j].case.label}"[:900],
                )
                return

    # --- what is said -----------------------------------------------------------------------

    def _tell(self, text: str) -> None:
        self.done += 1
        self.watch(
            Progress(
                slot=self.request.slot,
                variant=self.request.variant,
                text=text,
                done=self.done,
                total=len(self.orders) * len(self.pages),
            )
        )

    def _outcome(self) -> VariantOutcome:
        request = self.request
        for page in self.pages:
            # Nothing passes by having been forgotten.
            if page.case.applicable and not page.failed and not page.infrastructure:
                page.infrastructure = page.complete(self.orders, request.graph)
        rows = tuple(page.row() for page in self.pages)
        replayed = [row.replayed for row in rows if row.applicable] or [(0, 0)]
        verdict = verdict_of(
            rows,
            device=self.settings.device,
            graph=request.graph,
            needs_cuda=any(page.needs_cuda for page in self.pages),
        )
        return VariantOutcome(
            slot=request.slot,
            variant=request.variant,
            dtype=request.dtype,
            backend="cuda" if self.settings.device == "cuda" else "rehearsal",
            isolation=self.settings.isolation,
            word=verdict.word,
            graph=verdict.graph,
            rehearsal=verdict.rehearsal,
            graph_replays=min(compared for compared, _ in replayed),
            soak_replays=min(in_bursts for _, in_bursts in replayed),
            domain=request.domain,
            entry=request.candidate.entry,
            source=request.candidate.source,
            rows=rows,
            probes=tuple(sorted(self.probes)),
            notes=request.notes,
        )
