"""What the parts of a course share: its session, its pages, and the small steps."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import torch

from cacheon.contract.slots import slot as slot_of
from cacheon.engine.grader.attribution import Evidence, from_judgement, from_refusal
from cacheon.engine.grader.bits import same_bits
from cacheon.engine.grader.book import Page, Tally
from cacheon.engine.grader.buffers import Answers, put
from cacheon.engine.grader.contributions import Mistake, mistake
from cacheon.engine.grader.everywhere import Everywhere
from cacheon.engine.grader.group import Group
from cacheon.engine.grader.judging import Judgement, judge, worst_of
from cacheon.engine.grader.layout import LAYERS
from cacheon.engine.grader.questions import Question, ask
from cacheon.engine.grader.session import Refused
from cacheon.engine.grader.stale import stale
from cacheon.engine.grader.truth import Truth, Values, of_rank
from cacheon.engine.outcome import Finding, OrderName, Stage
from cacheon.engine.protocol import Disturb
from cacheon.engine.request import Candidate, RunSettings

_SLOW_REPLAYS = 4
_EARLIER = 2
"""Calls whose inputs are remembered."""
Extreme = Literal["minimal", "maximal", "any"]


class CaseFailed(Exception):
    """A case is done for: its finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def note_refusal(page: Page, refusal: Refused, order: OrderName, on_cuda: bool) -> None:
    """Note an exception that the candidate met."""
    if refusal.rank >= 0:
        page.rank = refusal.rank
    # Only a rehearsal has reasons for these two; on a GPU a candidate made them up.
    if refusal.reply.ours and not on_cuda:
        page.infrastructure = f"the rehearsal itself failed: {refusal.reply.message}"
        return
    if refusal.reply.needs_cuda and not on_cuda:
        page.needs_cuda = True
        where = refusal.reply.where
        at = f" at {where.file}:{where.line}" if where is not None else ""
        page.note(f"needs CUDA{at}: {refusal.reply.message}; `cacheon explain CG807`")
        return
    # What ranks talk over fails at whatever line they happen to be.
    between = page.world > 1 and refusal.reply.kind.startswith("Dist")
    page.unplaced = refusal.reply.where is None or between
    page.findings.append(from_refusal(refusal, order))


class Walk:
    """One order, in one group. `pages[i]` belongs to `session.cases[i]`."""

    def __init__(
        self,
        session: Group,
        pages: list[Page],
        truth: Truth,
        settings: RunSettings,
        order: OrderName,
        candidate: Candidate,
    ) -> None:
        self.session, self.pages, self.truth = session, pages, truth
        self.settings, self.order, self.candidate = settings, order, candidate
        self.slot = slot_of(truth.slot.name)
        # Which case comes next is nobody's business but the grader's.
        self.random = random.Random(f"{settings.seed}:{truth.slot.name}:{order}")
        self.at_capture: Extreme = "minimal" if order == "descending" else "maximal"
        self.at_replay: Extreme = "maximal" if order == "descending" else "minimal"
        self.perturbed = False
        self.idle: list[Everywhere] = []
        """Sets that nothing should write to any more."""
        self.probes: set[str] = set()
        """Adversities that were gone through to the end."""
        self.slow = False
        """A CPU on which one call takes so long that the rehearsal is cut short."""
        self.history: dict[tuple[int, int], list[Values]] = {}
        """Answers expected earlier, by case and call; call -1 stands for eager calls."""
        self.lags: dict[tuple[int, int], int] = {}
        """By how many replays the answers of the last burst are behind, by case and call."""
        self.given: dict[tuple[int, int], list[Values]] = {}
        """Inputs of earlier calls, the last ones first, by case and call as `history`."""
        self._poisons: dict[tuple[int, str], Values] = {}

    @property
    def replays(self) -> int:
        """Compared replays of each case."""
        return min(self.settings.replays, _SLOW_REPLAYS) if self.slow else self.settings.replays

    # --- which cases -------------------------------------------------------------------------

    def sequence(self, captured: bool = False) -> list[int]:
        """Cases that are still in the company, or only those with a graph; the request
        holds the largest first."""
        cases = [i for i, page in enumerate(self.pages) if not page.settled]
        if captured:
            cases = [i for i in cases if self.tally(i).captured]
        return cases if self.order == "descending" else cases[::-1]

    def shuffled(self) -> list[int]:
        cases = self.sequence(captured=True)
        self.random.shuffle(cases)
        return cases

    def first(self) -> int:
        """The first case that is left, -1 where none is."""
        return next(iter(self.sequence(captured=True)), -1)

    def tally(self, case: int) -> Tally:
        return self.pages[case].tally(self.order)

    def alone(self, case: int, step: Callable[[int], None]) -> None:
        """Run a step of one case; what it finds goes on that case's page."""
        try:
            step(case)
        except Refused as refusal:
            self.refused(case, refusal)
        except CaseFailed as failure:
            self.pages[case].findings.append(failure.finding)

    def disturb(self, command: Disturb) -> None:
        """Have the harness take a step of its own. Where it refuses, the candidate has meddled
        with it, and the case that is next pays."""

        def take(case: int) -> None:
            self.session.ask(command, "perturb", case)

        self.alone(max(self.first(), 0), take)

    def refused(self, case: int, refusal: Refused) -> None:
        """Note an exception that the candidate met."""
        note_refusal(self.pages[case], refusal, self.order, self.session.on_cuda)

    # --- buffers -------------------------------------------------------------------------------

    def stage(self, case: int, buffers: Everywhere, where: str, values: Values) -> None:
        """Poison everything of a call, and put values where its producer takes them."""
        buffers.poison(self.integers(case, where))
        buffers.stage(values)

    def integers(self, case: int, where: str) -> Values:
        """Valid but other values for the inputs that NaN cannot poison."""
        key = (case, where)
        if key not in self._poisons:
            self._poisons[key] = self.truth.poison(self.pages[case].case, where, 0)
        return self._poisons[key]

    def restart_counter(self) -> None:
        self.session.restart_counter()

    def wait(self) -> None:
        """What the grader wrote must have arrived before a worker reads it."""
        self.session.wait()

    # --- judging --------------------------------------------------------------------------------

    def judge(self, buffers: Everywhere, expected: Values, values: Values) -> Judgement:
        """Judge one answer, on every rank."""
        return self.judge_calls([(buffers, expected, values)])[0]

    def judge_calls(self, calls: Sequence[tuple[Everywhere, Values, Values]]) -> list[Judgement]:
        """Judge one answer of each call, on every rank: its buffers, what is expected of it and
        what it was given."""
        asked = [
            self._judging(
                buffers,
                buffers.collect(),
                {name: answer.unsqueeze(0) for name, answer in expected.items()},
                values,
            )
            for buffers, expected, values in calls
        ]
        told = iter(ask([one for ranks in asked for one in ranks]))
        return [
            self._concluded(buffers, [next(told) for _ in buffers.ranks]) for buffers, _, _ in calls
        ]

    def judge_rows(
        self,
        buffers: Everywhere,
        collected: Sequence[Sequence[Answers]],
        expected: Values,
        values: Values,
    ) -> Judgement:
        """Judge the first rows of a burst that was collected, on every rank; `expected` is
        stacked."""
        return self._concluded(buffers, ask(self._judging(buffers, collected, expected, values)))

    def _judging(
        self,
        buffers: Everywhere,
        collected: Sequence[Sequence[Answers]],
        expected: Values,
        values: Values,
    ) -> list[Question[Judgement]]:
        """One question a rank."""
        rows = next(iter(expected.values())).shape[0]
        return [
            judge(
                self.slot,
                one.case,
                one,
                collected[rank],
                expected,
                buffers.values_of(rank, values),
                rows,
            )
            for rank, one in enumerate(buffers.ranks)
        ]

    def _concluded(self, buffers: Everywhere, judgements: Sequence[Judgement]) -> Judgement:
        judgement = worst_of(judgements)
        if judgement.fault == "value" and self.session.ranks > 1 and buffers.still_move(judgement):
            return judgement._replace(fault="early")
        return judgement

    def blame(self, case: int, rank: int) -> None:
        """The rank that the row names, where there are several."""
        if self.session.ranks > 1:
            self.pages[case].rank = rank

    def compare_ranks(self, case: int) -> None:
        """Count the replays in which every rank holds the same bits. No slot asks for it."""
        if self.session.ranks > 1:
            same = all(buffers.agree() for buffers in self.session.captured[case])
            self.pages[case].compared.append(same)

    def wrote_elsewhere(self, others: list[Everywhere]) -> bool:
        """Whether an output that no call was given is no longer as it was poisoned."""
        return not all(buffers.outputs_untouched() for buffers in others)

    def mistake(
        self, case: int, layer: int, judgement: Judgement, values: Values, call: int
    ) -> Mistake | None:
        """Which contribution a wrong sum lacks, or has too often; `layer` is whose weights
        the call was made with, `call` which of the graph's it was, -1 for an eager one."""
        earlier = self.given.get((case, call), [])
        return mistake(self.truth, layer, judgement, values, earlier)

    def gave(self, case: int, call: int, values: Values) -> None:
        """Remember what a call was given, where ranks sum."""
        if self.session.ranks > 1:
            self.given[case, call] = [values, *self.given.get((case, call), [])][:_EARLIER]

    def lie_idle(self) -> None:
        """Poison the sets that no captured call is given: from here on nobody has a reason
        to write there. The largest case's cover everybody's."""
        self.idle = list(self.session.eager[0])
        for where, buffers in zip(("A", "A'"), self.idle, strict=True):
            buffers.poison(self.integers(0, where))

    def expect_untouched(self, case: int, stage: Stage) -> None:
        """Raise where memory was written that this call was not given to write: weights, or
        inputs and outputs of other calls. However right the answer is, somebody else's is
        not any more."""
        one = self.pages[case].case
        for rank in range(self.session.ranks):
            flags, names = [], []
            for layer in range(LAYERS):
                for name, values in of_rank(one, self.truth.weights(one, layer), rank).items():
                    shown = self.session.weight(rank, name, one.tensor(name).shape, layer)
                    flags.append(same_bits(shown.to(values.device), values))
                    names.append(("CG202", f"weight {name} of layer {layer} is not what it was"))
            for where, idle in zip(("A", "A'"), self.idle, strict=False):
                buffers = idle.ranks[rank]
                flags.append(buffers.untouched(self.integers(0, where)).to(self.truth.device))
                names += [
                    ("CG202", f"input {name} of an earlier call was written to")
                    for name in buffers.inputs
                ]
                names += [
                    ("CG205", f"output {name} of an earlier call was written to")
                    for name in buffers.outputs
                ]
            if not flags:
                return
            for same, (rule, words) in zip(torch.cat(flags).tolist(), names, strict=True):
                if not same:
                    self._mend()
                    self.blame(case, rank)
                    finding = Finding(rule=rule, stage=stage, message=words, order=self.order)
                    raise CaseFailed(finding)

    def _mend(self) -> None:
        """Put everything back, so that the next case does not pay for it."""
        for page in self.pages:
            for layer in range(LAYERS):
                weights = self.truth.weights(page.case, layer)
                for rank in range(self.session.ranks):
                    for name, values in of_rank(page.case, weights, rank).items():
                        shape = page.case.tensor(name).shape
                        put(self.session.weight(rank, name, shape, layer), values)
        if self.idle:
            self.lie_idle()

    def expect_right(
        self,
        case: int,
        judgements: list[Judgement],
        stage: Stage,
        passed: int,
        given: Sequence[Values] = (),
    ) -> None:
        """Raise what the calls of one replay, or of one burst, show to be wrong. `given`: the
        inputs of each call, where they are known for the row that is wrong.

        A wrong value says more than an output that changed after its snapshot, so it is
        looked for first."""
        for judgement in judgements:
            self.pages[case].measure(judgement.max_abs, judgement.max_relative)
        wrong = [layer for layer, judgement in enumerate(judgements) if not judgement.ok]
        if not wrong:
            return
        telling = [layer for layer in wrong if judgements[layer].fault != "early"]
        layer = (telling or wrong)[0]
        self.blame(case, judgements[layer].rank)
        fine = frozenset.intersection(*(each.fine for each in judgements))
        self.tally(case).ahead = fine
        found = self.mistake(case, layer, judgements[layer], given[layer], layer) if given else None
        rewritten = any(judgements[i].fault == "early" for i in wrong if i != layer)
        evidence = Evidence(
            stage=stage,
            order=self.order,
            entry=self.candidate.entry,
            call=layer,
            passed=passed,
            perturbed=self.perturbed,
            earlier=[one for i in range(LAYERS) for one in self.history[case, i]],
            replayed=self.history[case, layer][::-1],
            lag=self.lags.get((case, layer), 0),
            mistake=found,
            stale=partial(stale, self.truth, layer, judgements[layer], given[layer])
            if given
            else str,
            ranks=self.session.ranks,
            elsewhere=rewritten or self.wrote_elsewhere(self.idle),
        )
        raise CaseFailed(from_judgement(self.slot, judgements[layer], evidence))
