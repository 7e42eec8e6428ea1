"""The course of one order: warm-up, eager check, capture, replay, perturbation, bursts.

The stages, in the order of the specification:
1. load the source, prepare the weights;
2. warm each case up just before its own capture;
3. eager check on set A, then on set A';
4. capture on set B, three calls in one graph;
5. replay in rounds, cases in random order, fresh values in every dynamic input;
6. half-way, perturb: garbage, a larger eager call, a destroyed sibling, a canary;
7. soak: bursts of back-to-back replays, every answer compared.
Last, what went wrong on replay is asked which input it fails to follow.
A case that fails leaves the company; the others go on.
"""

import time
from collections.abc import Callable
from functools import partial

from cacheon.engine.grader.attribution import Evidence, from_graph, from_judgement, from_parting
from cacheon.engine.grader.bursts import Bursts
from cacheon.engine.grader.everywhere import Everywhere
from cacheon.engine.grader.following import Following
from cacheon.engine.grader.judging import Judgement
from cacheon.engine.grader.layout import LAYERS
from cacheon.engine.grader.rounds import Rounds
from cacheon.engine.grader.session import Refused
from cacheon.engine.grader.stale import stale
from cacheon.engine.grader.truth import Values
from cacheon.engine.grader.walk import CaseFailed, Walk
from cacheon.engine.outcome import Finding
from cacheon.engine.protocol import Call, Capture, Disturb, Load, Prepare, Warm

_SETS = ("A", "A'")
_SLOW = 0.2
"""Seconds of both eager checks of a case and rank, drawing and comparing included."""
_IN_COMPANY = 2
_TRIES = 3


class Course:
    """One order. Raises `Lost` where the worker is; every other fault of the candidate
    ends on a page."""

    def __init__(self, walk: Walk, graph: bool, caches: str, tell: Callable[[str], None]) -> None:
        self.walk, self.graph, self.caches, self.tell = walk, graph, caches, tell

    def run(self) -> None:
        walk = self.walk
        if not self._load():
            return
        for case in walk.sequence():
            walk.alone(case, self._warm_check_and_capture)
        bursts = Bursts(walk)
        if self.graph:
            walk.lie_idle()
            Rounds(walk).run()
            walk.disturb(Disturb(step="release"))
            bursts.run()
        bursts.growth()
        if self.graph:
            Following(walk).run()

    def _load(self) -> bool:
        """Load and prepare; False where no case can go on."""
        walk, ask = self.walk, self.walk.session.ask
        try:
            command = Load(candidate=walk.candidate, caches=self.caches)
            ask(command, "load", -1, compiles=True)
            for index in range(len(walk.session.layout.plan.prepares)):
                ask(Prepare(index=index), "prepare", -1, compiles=True)
        except Refused as refusal:
            for case in range(len(walk.pages)):
                walk.refused(case, refusal)
            return False
        for case in range(len(walk.pages)):
            walk.tally(case).passed("load")
        return True

    def _warm_check_and_capture(self, case: int) -> None:
        walk, tally = self.walk, self.walk.tally(case)
        one = walk.pages[case].case
        self.tell(f"{walk.order}: {one.label}")
        values = walk.truth.values(one, 0, "warm", 0, walk.at_capture)
        walk.history[case, -1] = [
            walk.truth.expected(one, layer, values) for layer in range(LAYERS)
        ]
        walk.gave(case, -1, values)
        walk.stage(case, walk.session.eager[case][0], "A", values)
        walk.wait()
        warmed = walk.session.ask(Warm(case=case), "warmup", case, compiles=True)
        walk.pages[case].waited(where for done in warmed for where in done.waits)
        tally.passed("warmup")
        started = time.monotonic()
        for which in range(len(_SETS)):
            self._eager_check(case, which)
        tally.passed("eager")
        taken = (time.monotonic() - started) / walk.session.ranks
        walk.slow |= not walk.session.on_cuda and taken > _SLOW
        if self.graph and self._is_worth_rehearsing(case):
            self._capture(case)
            tally.captured = True
            tally.passed("capture")

    def _is_worth_rehearsing(self, case: int) -> bool:
        """On a CPU that is slow with this candidate (interpreted kernels) the two smallest
        cases are rehearsed in company; of the others the arithmetic is checked."""
        walk = self.walk
        if not walk.slow or case >= len(walk.pages) - _IN_COMPANY:
            return True
        walk.pages[case].note("not rehearsed: a call takes too long here")
        tally = walk.tally(case)
        tally.replays_asked = tally.soak_asked = 0
        return False

    def _eager_check(self, case: int, which: int) -> None:
        walk, page = self.walk, self.walk.pages[case]
        buffers, other = walk.session.eager[case][which], walk.session.eager[case][1 - which]
        values = walk.truth.values(page.case, which, _SETS[which], which, "any")
        expected = walk.truth.expected(page.case, which, values)
        # A write to the other set's output must be seen: it is poisoned too.
        other.poison(walk.integers(case, _SETS[1 - which]))
        walk.stage(case, buffers, _SETS[which], values)
        walk.wait()
        answers = walk.session.ask(Call(case=case, which=which), "eager", case, compiles=True)
        page.met(where for done in answers for where in done.waits)
        judgement = walk.judge(buffers, expected, values)
        page.measure(judgement.max_abs, judgement.max_relative)
        if judgement.ok:
            self._expect_others_untouched(case, other, _SETS[1 - which])
            walk.gave(case, -1, values)
            return
        walk.blame(case, judgement.rank)
        elsewhere = walk.wrote_elsewhere([other])
        early = judgement.fault == "value" and self._right_when_inputs_lie_ready(
            case, which, values, expected
        )
        evidence = Evidence(
            stage="eager",
            order=walk.order,
            entry=walk.candidate.entry,
            returned=any(done.returned for done in answers),
            elsewhere=elsewhere,
            early=early,
            earlier=walk.history[case, -1],
            mistake=walk.mistake(case, which, judgement, values, -1),
            stale=partial(self._stale, case, which, judgement, values),
            ranks=walk.session.ranks,
        )
        raise CaseFailed(from_judgement(walk.slot, judgement, evidence))

    def _stale(self, case: int, which: int, judgement: Judgement, values: Values) -> str:
        """What of an earlier eager call the answer is right for; those are drawn once more."""
        walk, one = self.walk, self.walk.pages[case].case
        checked = [walk.truth.values(one, i, _SETS[i], i, "any") for i in range(which)]
        warmed = walk.truth.values(one, 0, "warm", 0, walk.at_capture)
        return stale(walk.truth, which, judgement, values, [*checked[::-1], warmed])

    def _expect_others_untouched(self, case: int, other: Everywhere, where: str) -> None:
        """The set that this call was not given, and the weights."""
        walk = self.walk
        walk.expect_untouched(case, "eager")
        for rank, buffers in enumerate(other.ranks):
            names = [*(f"input {name}" for name in buffers.inputs)]
            names += [f"output {name}" for name in buffers.outputs]
            for same, name in zip(
                buffers.untouched(walk.integers(case, where)).tolist(), names, strict=True
            ):
                if not same:
                    walk.blame(case, rank)
                    rule = "CG205" if name.startswith("output") else "CG202"
                    message = f"{name} of an earlier call was written to"
                    raise CaseFailed(
                        Finding(rule=rule, stage="eager", message=message, order=walk.order)
                    )

    def _right_when_inputs_lie_ready(
        self, case: int, which: int, values: Values, expected: Values
    ) -> bool:
        """Whether the entry is right where its inputs hold their values long before the
        call, and wrong again where they do not: then it reads them on a stream that does not
        wait for the caller's. An entry that is right now and then is something else.

        More than once, for a neighbour on the same GPU can make even such an entry late."""
        return any(
            self._is_right(case, which, values, expected, ready=True) for _ in range(_TRIES)
        ) and not self._is_right(case, which, values, expected, ready=False)

    def _is_right(
        self, case: int, which: int, values: Values, expected: Values, ready: bool
    ) -> bool:
        walk, buffers = self.walk, self.walk.session.eager[case][which]
        walk.stage(case, buffers, _SETS[which], values)
        if ready:
            buffers.lay(values)
        walk.wait()
        try:
            walk.session.ask(Call(case=case, which=which), "eager", case)
        except Refused:
            return False
        return walk.judge(buffers, expected, values).ok

    def _capture(self, case: int) -> None:
        walk, page = self.walk, self.walk.pages[case]
        for layer, buffers in enumerate(walk.session.captured[case]):
            values = walk.truth.values(page.case, layer, f"B{layer}", 0, walk.at_capture)
            buffers.poison(walk.integers(case, f"B{layer}"))
            buffers.stage_everywhere(values)
            walk.history[case, layer] = [walk.truth.expected(page.case, layer, values)]
            walk.gave(case, layer, values)
        walk.wait()
        answers = walk.session.ask(Capture(case=case), "capture", case)
        page.nodes = dict(answers[0].kinds)
        apart = walk.session.parting()
        if apart is not None:
            # Before any replay of graphs that would wait for each other for ever.
            page.rank = apart.ranks[1] if apart.odd else None
            raise CaseFailed(from_parting(apart.words, "capture", walk.order))
        for rank, done in enumerate(answers):
            finding = from_graph(done, walk.order, walk.candidate.entry)
            if finding is not None:
                page.rank = rank if len(answers) > 1 else None
                raise CaseFailed(finding)
        if not page.nodes and walk.session.on_cuda:
            page.note("graph nodes not looked into: install cuda-bindings")
