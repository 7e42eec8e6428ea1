"""Compared replays in rounds, and the perturbation between them."""

import time
from collections.abc import Callable

import torch

from cacheon.engine.grader.attribution import Evidence, from_judgement
from cacheon.engine.grader.compare import no_accident
from cacheon.engine.grader.judging import Judgement
from cacheon.engine.grader.layout import LAYERS
from cacheon.engine.grader.questions import ask
from cacheon.engine.grader.truth import Values
from cacheon.engine.grader.walk import CaseFailed, Extreme, Walk
from cacheon.engine.outcome import Finding, Stage
from cacheon.engine.protocol import Call, Capture, Disturb, Replay

_DRAWS = 4
"""A round whose answers do not differ from the last ones is drawn again, so often."""
_ROUNDS_TO_BE_STUBBORN = 4


class Rounds:
    """In each round the cases come in a random order, each replayed once on fresh values
    in every dynamic input of each of its calls."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.turn = 0
        self._cell_failures: dict[tuple[int, int, str], torch.Tensor] = {}

    def run(self) -> None:
        walk, replays = self.walk, self.walk.replays
        for case in walk.sequence(captured=True):
            walk.tally(case).replays_asked = replays
        for self.turn in range(replays):
            if self.turn == replays // 2:
                self._perturb()
            for case in walk.shuffled():
                walk.alone(case, self._replay)
        for case in walk.shuffled():
            walk.alone(case, self._stubborn_cells)

    def _replay(self, case: int) -> None:
        walk, tally = self.walk, self.walk.tally(case)
        calls = walk.session.captured[case]
        extreme: Extreme = walk.at_replay if self.turn % 2 == 0 else "any"
        drawn = self._fresh(case, extreme)
        for layer, buffers in enumerate(calls):
            walk.stage(case, buffers, f"B{layer}", drawn[layer][0])
        walk.restart_counter()
        walk.wait()
        stage: Stage = "perturb" if walk.perturbed else "replay"
        started = time.monotonic()
        walk.session.ask(Replay(case=case, times=1), stage, case)
        tally.seconds_a_replay = time.monotonic() - started
        tally.replays_completed += 1
        judgements = walk.judge_calls(
            [(calls[layer], expected, values) for layer, (values, expected) in enumerate(drawn)]
        )
        given = [values for values, _ in drawn]
        walk.expect_right(case, judgements, stage, tally.replays_passed, given)
        walk.expect_untouched(case, stage)
        if self.turn == walk.replays // 2:
            # The first replay after the perturbation is held against the canaries.
            walk.session.ask(Disturb(step="inspect"), stage, case)
        for layer, (_, expected) in enumerate(drawn):
            self._count_cells(case, layer, judgements[layer])
            walk.gave(case, layer, given[layer])
            walk.history[case, layer] = [*walk.history[case, layer], expected][-4:]
        tally.replays_passed += 1
        tally.passed(stage)
        walk.compare_ranks(case)

    def _fresh(self, case: int, extreme: Extreme) -> list[tuple[Values, Values]]:
        """For each layer values, and answers that differ from the last ones: where they do not,
        a round would prove nothing, and its values are drawn again."""
        walk, one = self.walk, self.walk.pages[case].case
        drawn: dict[int, tuple[Values, Values]] = {}
        left = list(range(LAYERS))
        for attempt in range(_DRAWS):
            turn = 1 + self.turn + 1000 * attempt
            for layer in left:
                values = walk.truth.values(one, layer, f"B{layer}", turn, extreme)
                drawn[layer] = values, walk.truth.expected(one, layer, values)
            told = ask(
                [
                    walk.truth.tells(one, walk.history[case, layer][-1], drawn[layer][1])
                    for layer in left
                ]
            )
            left = [layer for layer, tells in zip(left, told, strict=True) if not tells]
            if not left:
                break
        return [drawn[layer] for layer in range(LAYERS)]

    # --- cells that fail again and again -----------------------------------------------------

    def _count_cells(self, case: int, layer: int, judgement: Judgement) -> None:
        for name, wrong in judgement.wrong.items():
            key = (case, layer, name)
            counts = wrong.sum(dim=0, dtype=torch.int32)
            known = self._cell_failures.get(key)
            self._cell_failures[key] = counts if known is None else known + counts

    def _stubborn_cells(self, case: int) -> None:
        """A cell that fails in half of the rounds or more fails, however few such cells there
        are: where that is no accident."""
        rounds = self.walk.replays
        if rounds < _ROUNDS_TO_BE_STUBBORN:
            return
        for (owner, layer, name), failures in self._cell_failures.items():
            if owner != case:
                continue
            worst = int(failures.max())
            if worst >= no_accident(failures.numel(), rounds, int(failures.sum())):
                message = (
                    f"call {layer}: a cell of {name} is out of tolerance in {worst} of "
                    f"{rounds} rounds"
                )
                if self.walk.session.ranks > 1:
                    per_rank = failures.flatten(1).amax(1)
                    self.walk.pages[case].rank = int(per_rank.argmax())
                raise CaseFailed(
                    Finding(rule="CG804", stage="replay", message=message, order=self.walk.order)
                )

    # --- the perturbation ----------------------------------------------------------------------

    def _perturb(self) -> None:
        """Everything that serving does between two replays of a graph: collect garbage,
        empty the allocator's cache, call eagerly a larger case through the candidate's own
        caches, destroy a sibling graph, refill freed memory with a canary."""
        walk = self.walk
        walk.perturbed = True
        steps: tuple[tuple[Callable[[int], None], Disturb], ...] = (
            (self._sibling, Disturb(step="collect")),
            (self._larger_call, Disturb(step="siblings")),
            (self._eager_again, Disturb(step="collect")),
        )
        for step, after in steps:
            case = walk.first()
            if case < 0:
                return
            walk.alone(case, step)
            walk.disturb(after)
        walk.disturb(Disturb(step="refill"))
        walk.probes.add("perturb")

    def _sibling(self, case: int) -> None:
        walk = self.walk
        for layer, buffers in enumerate(walk.session.captured[case]):
            # What another case left in the shared buffers may be no valid input of this one,
            # and a rehearsal runs the entry as it records it.
            walk.stage(
                case,
                buffers,
                f"B{layer}",
                walk.truth.values(walk.pages[case].case, layer, f"B{layer}", 0, walk.at_capture),
            )
        walk.wait()
        self.walk.session.ask(Capture(case=case, sibling=True), "perturb", case)

    def _eager_again(self, case: int) -> None:
        """An eager call of a captured shape, as prefill and decode alternate: what was
        cached for the graph must not answer here."""
        walk, buffers = self.walk, self.walk.session.eager[case][0]
        one = walk.pages[case].case
        values = walk.truth.values(one, 0, "A", 2, "any")
        walk.stage(case, buffers, "A", values)
        walk.wait()
        walk.session.ask(Call(case=case, which=0), "perturb", case, compiles=True)
        judgement = walk.judge(buffers, walk.truth.expected(one, 0, values), values)
        walk.lie_idle()
        if not judgement.ok:
            walk.blame(case, judgement.rank)
            evidence = Evidence(
                stage="eager",
                order=walk.order,
                entry=walk.candidate.entry,
                ranks=walk.session.ranks,
                context="in an eager call after capture",
            )
            raise CaseFailed(from_judgement(walk.slot, judgement, evidence))

    def _larger_call(self, case: int) -> None:
        """An eager call larger than any captured one, where domain and limits leave room."""
        walk, buffers = self.walk, self.walk.session.larger
        if buffers is None:
            return
        label = buffers.case.label
        walk.pages[case].note(f"larger eager call: {label}")
        values = walk.truth.values(buffers.case, 0, "G", 0, "any")
        buffers.poison(walk.truth.poison(buffers.case, "G", 0))
        buffers.stage(values)
        walk.wait()
        walk.session.ask(Call(case=case, which=-1), "perturb", case, compiles=True)
        expected = walk.truth.expected(buffers.case, 0, values)
        judgement = walk.judge(buffers, expected, values)
        if not judgement.ok:
            walk.blame(case, judgement.rank)
            evidence = Evidence(
                stage="eager",
                order=walk.order,
                entry=walk.candidate.entry,
                ranks=walk.session.ranks,
                context=f"in a larger eager call ({label})",
            )
            raise CaseFailed(from_judgement(walk.slot, judgement, evidence))
