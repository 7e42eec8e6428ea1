"""The course of one order: warm-up, eager check, capture, replay, perturbation, bursts.

The stages, in the order of the specification:
1. load the source, prepare the weights;
2. warm each case up just before its own capture;
3. eager check on set A, then on set A';
4. capture on set B, three calls in one graph;
5. replay in rounds, cases in random order, fresh values in every dynamic input;
6. half-way, perturb: garbage, a larger eager call, a destroyed sibling, a canary;
7. soak: bursts of back-to-back replays, every answer compared.
A case that fails leaves the company; the others go on.
"""

import random
from collections.abc import Callable
from typing import Literal

import torch

from cacheon.contract.slots import slot as slot_of
from cacheon.engine.grader.attribution import (
    Evidence,
    from_graph,
    from_judgement,
    from_refusal,
)
from cacheon.engine.grader.book import Page
from cacheon.engine.grader.buffers import CallBuffers
from cacheon.engine.grader.judging import Judgement, judge
from cacheon.engine.grader.layout import LAYERS
from cacheon.engine.grader.probes.growth import climbs
from cacheon.engine.grader.session import Refused, Session
from cacheon.engine.grader.truth import Truth, Values
from cacheon.engine.outcome import Finding, OrderName, Stage
from cacheon.engine.protocol import Call, Capture, Disturb, Load, Prepare, Replay, Warm
from cacheon.engine.request import Candidate, RunSettings

Extreme = Literal["minimal", "maximal", "any"]
BANK = 4
"""Draws that a soak picks from, at random, for every row of every burst."""


class CaseFailed(Exception):
    """A case is done for: its finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class Course:
    """One order, in one session. `pages[i]` belongs to `session.cases[i]`."""

    def __init__(
        self,
        session: Session,
        pages: list[Page],
        truth: Truth,
        settings: RunSettings,
        order: OrderName,
        graph: bool,
        candidate: Candidate,
        caches: str,
        tell: Callable[[str], None],
    ) -> None:
        self.session, self.pages, self.truth = session, pages, truth
        self.settings, self.order, self.graph = settings, order, graph
        self.candidate, self.caches, self.tell = candidate, caches, tell
        self.slot = slot_of(truth.slot.name)
        # Which case comes next is nobody's business but the grader's.
        self.random = random.Random(f"{settings.seed}:{truth.slot.name}:{order}")
        self.at_capture: Extreme = "minimal" if order == "descending" else "maximal"
        self.at_replay: Extreme = "maximal" if order == "descending" else "minimal"
        self.turn = 0
        self.poisons: dict[tuple[int, str], Values] = {}
        self.history: dict[tuple[int, int], list[Values]] = {}
        """Answers expected earlier, by case and call; call -1 stands for eager calls."""
        self.cell_failures: dict[tuple[int, int, str], torch.Tensor] = {}
        self.perturbed = False
        self.returned = False

    # --- the whole ---------------------------------------------------------------------

    def run(self) -> None:
        """Walk the course. Raises `Lost` where the worker is; every other fault of the
        candidate ends on a page."""
        if not self._load():
            return
        for case in self._sequence():
            self._alone(case, self._warm_check_and_capture)
        if not self.graph:
            self._growth()
            return
        half = self.settings.replays // 2
        for turn in range(self.settings.replays):
            if turn == half:
                self._perturb()
            for case in self._shuffled():
                self._alone(case, self._replay_round)
            self.turn += 1
        for case in self._shuffled():
            self._alone(case, self._stubborn_cells)
        self.session.ask(Disturb(step="release"), "perturb", -1)
        for case in self._shuffled():
            self._alone(case, self._soak)
        self._growth()

    def _sequence(self) -> list[int]:
        """Cases are ordered largest first in the request."""
        cases = [i for i, page in enumerate(self.pages) if not page.settled]
        return cases if self.order == "descending" else cases[::-1]

    def _shuffled(self) -> list[int]:
        cases = self._sequence()
        self.random.shuffle(cases)
        return cases

    def _alone(self, case: int, step: Callable[[int], None]) -> None:
        """Run a step of one case; what it finds goes on that case's page."""
        page = self.pages[case]
        try:
            step(case)
        except Refused as refusal:
            if refusal.reply.needs_cuda:
                page.needs_cuda = True
                page.note(f"needs CUDA: {refusal.reply.message}")
            else:
                page.unplaced = refusal.reply.where is None
                page.findings.append(from_refusal(refusal, self.order))
        except CaseFailed as failure:
            page.findings.append(failure.finding)

    # --- load, warm up, check, capture ---------------------------------------------------

    def _load(self) -> bool:
        """Load and prepare; False where no case can go on."""
        ask = self.session.ask
        try:
            ask(Load(candidate=self.candidate, caches=self.caches), "load", -1, compiles=True)
            for index in range(len(self.session.layout.plan.prepares)):
                ask(Prepare(index=index), "prepare", -1, compiles=True)
        except Refused as refusal:
            for page in self.pages:
                if refusal.reply.needs_cuda:
                    page.needs_cuda = True
                    page.note(f"needs CUDA: {refusal.reply.message}")
                else:
                    page.findings.append(from_refusal(refusal, self.order))
            return False
        for page in self.pages:
            page.tally(self.order).passed("load")
        return True

    def _warm_check_and_capture(self, case: int) -> None:
        page, tally = self.pages[case], self.pages[case].tally(self.order)
        self.tell(f"{self.order}: {page.case.label}")
        buffers = self.session.eager[case]
        values = self.truth.values(page.case, 0, "warm", 0, self.at_capture)
        self.history[case, -1] = [
            self.truth.expected(page.case, layer, values) for layer in range(LAYERS)
        ]
        self._prepare_call(case, buffers[0], "A", values)
        self._wait()
        self.session.ask(Warm(case=case), "warmup", case, compiles=True)
        tally.passed("warmup")
        for which in (0, 1):
            self._eager_check(case, which)
        tally.passed("eager")
        if self.graph:
            self._capture(case)
            tally.passed("capture")

    def _eager_check(self, case: int, which: int) -> None:
        page, buffers = self.pages[case], self.session.eager[case][which]
        where = ("A", "A'")[which]
        values = self.truth.values(page.case, which, where, which, "any")
        expected = self.truth.expected(page.case, which, values)
        # A write to the other set's output must be seen: it is poisoned too.
        other = self.session.eager[case][1 - which]
        other.poison(self._integers(case, ("A'", "A")[which]))
        self._prepare_call(case, buffers, where, values)
        self._wait()
        done = self.session.ask(Call(case=case, which=which), "eager", case, compiles=True)
        judgement = self._judge(case, buffers, [expected], values)
        if not judgement.ok:
            early = judgement.fault == "value" and self._right_when_inputs_lie_ready(
                case, which, values, expected
            )
            evidence = Evidence(
                stage="eager",
                order=self.order,
                returned=done.returned,
                elsewhere=self._wrote_elsewhere([other]),
                early=early,
                entry=self.candidate.entry,
                earlier=self.history.get((case, -1), []),
            )
            raise CaseFailed(from_judgement(self.slot, judgement, evidence))

    def _right_when_inputs_lie_ready(
        self, case: int, which: int, values: Values, expected: Values
    ) -> bool:
        """Whether the entry is right where its inputs hold their values long before the
        call: then it reads them on a stream that does not wait for the caller's."""
        buffers = self.session.eager[case][which]
        self._prepare_call(case, buffers, "A", values)
        for name, tensor in buffers.inputs.items():
            tensor.copy_(values[name])
        self._wait()
        try:
            self.session.ask(Call(case=case, which=which), "eager", case)
        except Refused:
            return False
        return self._judge(case, buffers, [expected], values).ok

    def _capture(self, case: int) -> None:
        page = self.pages[case]
        for layer, buffers in enumerate(self.session.captured[case]):
            values = self.truth.values(page.case, layer, f"B{layer}", 0, self.at_capture)
            buffers.poison(self._integers(case, f"B{layer}"))
            for ring, name in ((buffers.staging[n], n) for n in buffers.staging):
                ring.copy_(values[name].unsqueeze(0).expand_as(ring))
            expected = self.truth.expected(page.case, layer, values)
            self.history[case, layer] = [expected]
        self._wait()
        done = self.session.ask(Capture(case=case), "capture", case)
        page.nodes = dict(done.kinds)
        finding = from_graph(done, self.order, self.candidate.entry)
        if finding is not None:
            raise CaseFailed(finding)
        for buffers in self.session.eager[case]:
            # From here on nobody has a reason to write there.
            buffers.poison(self._integers(case, "A"))
        if not done.kinds and self.session.on_cuda:
            page.note("graph nodes not looked into: install cuda-bindings")

    # --- replays ---------------------------------------------------------------------------

    def _replay_round(self, case: int) -> None:
        tally = self.pages[case].tally(self.order)
        extreme: Extreme = self.at_replay if self.turn % 2 == 0 else "any"
        calls = self.session.captured[case]
        drawn: list[tuple[Values, Values]] = []
        for layer, buffers in enumerate(calls):
            values, expected = self._fresh(case, layer, extreme)
            self._prepare_call(case, buffers, f"B{layer}", values)
            drawn.append((values, expected))
        self.counter_to_zero()
        self._wait()
        stage: Stage = "perturb" if self.perturbed else "replay"
        self.session.ask(Replay(case=case, times=1), stage, case)
        tally.replays_completed += 1
        judgements = [
            self._judge(case, calls[layer], [expected], values)
            for layer, (values, expected) in enumerate(drawn)
        ]
        self._expect_right(case, judgements, stage, 0)
        for layer, (_, expected) in enumerate(drawn):
            self._count_cells(case, layer, judgements[layer])
            self.history[case, layer] = [*self.history[case, layer], expected][-4:]
        tally.replays_passed += 1
        tally.passed(stage)

    def _fresh(self, case: int, layer: int, extreme: Extreme) -> tuple[Values, Values]:
        """Values whose answers differ from the last ones: a round in which they do not
        proves nothing and is drawn again."""
        page = self.pages[case]
        for attempt in range(4):
            turn = 1 + self.turn + 1000 * attempt
            values = self.truth.values(page.case, layer, f"B{layer}", turn, extreme)
            expected = self.truth.expected(page.case, layer, values)
            last = self.history[case, layer][-1]
            if self.truth.tells(page.case, last, expected):
                break
        return values, expected

    def _perturb(self) -> None:
        """Everything that serving does between two replays of a graph."""
        ask, case = self.session.ask, self._first_left()
        self.perturbed = True
        if case < 0:
            return
        self._alone(case, lambda i: ask(Capture(case=i, sibling=True), "perturb", i) and None)
        ask(Disturb(step="collect"), "perturb", case)
        self._larger_call(case)
        ask(Disturb(step="siblings"), "perturb", case)
        ask(Disturb(step="refill"), "perturb", case)

    def _larger_call(self, case: int) -> None:
        """An eager call larger than any captured one, through the candidate's own caches."""
        buffers = self.session.larger
        if buffers is None:
            return
        values = self.truth.values(buffers.case, 0, "G", 0, "any")
        buffers.poison(self.truth.poison(buffers.case, "G", 0))
        buffers.stage(values)
        self._wait()
        page = self.pages[case]
        page.note(f"larger eager call: {buffers.case.label}")

        def call(_: int) -> None:
            self.session.ask(Call(case=case, which=-1), "perturb", case, compiles=True)
            expected = self.truth.expected(buffers.case, 0, values)
            judgement = self._judge_against(buffers, [expected], values)
            if not judgement.ok:
                evidence = Evidence(
                    stage="eager",
                    order=self.order,
                    entry=self.candidate.entry,
                    context=f"in a larger eager call ({buffers.case.label})",
                )
                raise CaseFailed(from_judgement(self.slot, judgement, evidence))

        self._alone(case, call)

    def _first_left(self) -> int:
        left = self._sequence()
        return left[0] if left else -1

    def _stubborn_cells(self, case: int) -> None:
        """A cell that fails in half of the rounds or more fails, however few they are."""
        rounds = self.settings.replays
        if rounds < 4:
            return
        for (owner, layer, name), failures in self.cell_failures.items():
            if owner != case:
                continue
            worst = int(failures.max())
            if 2 * worst >= rounds:
                message = (
                    f"call {layer}: a cell of {name} is out of tolerance in {worst} of "
                    f"{rounds} rounds"
                )
                raise CaseFailed(
                    Finding(rule="CG804", stage="replay", message=message, order=self.order)
                )

    def _soak(self, case: int) -> None:
        """Bursts as deep as the ring, without synchronizing inside one."""
        page, tally = self.pages[case], self.pages[case].tally(self.order)
        calls = self.session.captured[case]
        depth, left = calls[0].rows, self.settings.soak
        if not left:
            return
        bank = self.truth.bank(page.case, f"soak:{self.order}", min(BANK, left))
        entries = next(iter(bank.values.values())).shape[0]
        while left > 0:
            rows = min(depth, left)
            picked: list[torch.Tensor] = []
            for layer, buffers in enumerate(calls):
                picks = [self.random.randrange(entries) for _ in range(depth)]
                index = torch.tensor(picks, device=self.truth.device)
                buffers.poison(self._integers(case, f"B{layer}"))
                buffers.stage_rows(bank.values, index)
                picked.append(index)
            self.counter_to_zero()
            self._wait()
            self.session.ask(Replay(case=case, times=rows), "soak", case)
            tally.soak_completed += rows
            judgements = []
            for layer, index in enumerate(picked):
                of_rows = index[:rows]
                expected = {
                    name: answers.index_select(0, of_rows)
                    for name, answers in bank.expected[layer].items()
                }
                last = {name: bank.values[name][int(index[rows - 1])] for name in bank.values}
                judgements.append(self._judge_stacked(calls[layer], expected, last, rows))
            self._expect_right(case, judgements, "soak", tally.soak_passed)
            tally.soak_passed += rows
            left -= rows
        tally.passed("soak")

    def _growth(self) -> None:
        """Once a variant, on its largest case: what climbs there climbs everywhere."""
        case = self._first_left()
        if case < 0 or self.order != "descending" or not self.session.on_cuda:
            return

        def measure(case: int) -> None:
            for climb in climbs(self.session, case, self.graph):
                # No line is known: the control must be seen not to climb.
                self.pages[case].unplaced = True
                message = (
                    f"device memory climbs by {climb.nbytes} bytes over {climb.times} {climb.what}"
                )
                raise CaseFailed(
                    Finding(rule="CG504", stage=climb.stage, message=message, order=self.order)
                )

        self._alone(case, measure)

    # --- small steps -------------------------------------------------------------------------

    def _prepare_call(self, case: int, buffers: CallBuffers, where: str, values: Values) -> None:
        buffers.poison(self._integers(case, where))
        buffers.stage(values)

    def _integers(self, case: int, where: str) -> Values:
        key = (case, where)
        if key not in self.poisons:
            self.poisons[key] = self.truth.poison(self.pages[case].case, where, 0)
        return self.poisons[key]

    def counter_to_zero(self) -> None:
        self.session.counter.zero_()

    def _wait(self) -> None:
        """What the grader wrote must have arrived before a worker reads it."""
        if self.truth.device.type == "cuda":
            torch.cuda.synchronize()

    def _judge(
        self, case: int, buffers: CallBuffers, expected: list[Values], values: Values
    ) -> Judgement:
        judgement = self._judge_against(buffers, expected, values)
        self.pages[case].measure(judgement.max_abs, judgement.max_relative)
        return judgement

    def _judge_against(
        self, buffers: CallBuffers, expected: list[Values], values: Values
    ) -> Judgement:
        stacked = {n: torch.stack([one[n] for one in expected]) for n in expected[0]}
        return self._judge_stacked(buffers, stacked, values, len(expected))

    def _judge_stacked(
        self, buffers: CallBuffers, expected: Values, values: Values, rows: int
    ) -> Judgement:
        return judge(self.slot, buffers.case, buffers, expected, values, rows)

    def _count_cells(self, case: int, layer: int, judgement: Judgement) -> None:
        for name, wrong in judgement.wrong.items():
            key = (case, layer, name)
            counts = wrong.sum(dim=0, dtype=torch.int32)
            known = self.cell_failures.get(key)
            self.cell_failures[key] = counts if known is None else known + counts

    def _wrote_elsewhere(self, others: list[CallBuffers]) -> bool:
        """Whether an output that no call was given is no longer as it was poisoned."""
        for buffers in others:
            for output in buffers.outputs.values():
                if not bool((output.region == output.fresh).all()):
                    return True
        return False

    def _expect_right(
        self, case: int, judgements: list[Judgement], stage: Stage, passed: int
    ) -> None:
        """Raise what the calls of one replay, or of one burst, show to be wrong.

        A wrong value says more than an output that changed after its snapshot, so it is
        looked for first."""
        wrong = [layer for layer, judgement in enumerate(judgements) if not judgement.ok]
        if not wrong:
            return
        telling = [layer for layer in wrong if judgements[layer].fault != "early"]
        layer = (telling or wrong)[0]
        rewritten = any(judgements[i].fault == "early" for i in wrong if i != layer)
        evidence = Evidence(
            stage=stage,
            order=self.order,
            entry=self.candidate.entry,
            call=layer,
            passed=passed,
            perturbed=self.perturbed,
            earlier=[one for i in range(LAYERS) for one in self.history[case, i]],
            last=self.history[case, layer][-1],
            elsewhere=rewritten or self._wrote_elsewhere(list(self.session.eager[case])),
        )
        raise CaseFailed(from_judgement(self.slot, judgements[layer], evidence))
