"""Soak: replays back to back, in bursts as deep as the ring, every answer compared."""

import time
from collections.abc import Sequence

import torch

from cacheon.engine.grader.compare import measure
from cacheon.engine.grader.everywhere import Everywhere
from cacheon.engine.grader.judging import Judgement, as_right_as
from cacheon.engine.grader.layout import row_bytes
from cacheon.engine.grader.probes.growth import climbs
from cacheon.engine.grader.questions import Question, ask
from cacheon.engine.grader.truth import Bank, Values
from cacheon.engine.grader.walk import CaseFailed, Walk
from cacheon.engine.outcome import Finding
from cacheon.engine.protocol import Replay

_PATIENCE_ON_CPU = 0.5
"""Seconds of soak for one case of a rehearsal, once the first burst is through."""
_SLOW_BURST = 2
"""Replays of a burst where one takes long."""
_TELLING_BYTES = 256 << 10
_MOST_LAG, _FEWEST_ROWS, _LAGGING_ROWS = 8, 3, 6
"""How far behind an answer is looked for, and over how many rows it must be so, at least
and at most: the draws of a small bank repeat."""
Known = list[list[torch.Tensor]]
"""A row that was found right: of each rank, of each output, uint8 (nbytes,)."""
BANK = 4
"""Draws that a soak picks from, at random, for every row of every burst."""


class Bursts:
    """The rows of a burst take their values from a small bank, in an order that nobody can
    foresee: an answer that lags by any number of replays is wrong sooner or later.

    An answer whose bits are those of one that was already found right is right; only
    others are measured again."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def run(self) -> None:
        for case in self.walk.shuffled():
            self.walk.alone(case, self._soak)

    def _soak(self, case: int) -> None:
        walk, tally = self.walk, self.walk.tally(case)
        calls = walk.session.captured[case]
        depth, left = self._depth(case, calls[0].rows), walk.settings.soak
        tally.soak_asked = left
        if not left:
            return
        bank = walk.truth.bank(walk.pages[case].case, f"soak:{walk.order}", min(BANK, left))
        known: list[dict[int, Known]] = [{} for _ in calls]
        deadline = time.monotonic() + _PATIENCE_ON_CPU
        while left > 0:
            if self._is_enough(case, deadline):
                break
            rows = min(depth, left)
            picks = [self._stage(case, layer, calls[layer], bank) for layer in range(len(calls))]
            walk.restart_counter()
            walk.wait()
            walk.session.ask(Replay(case=case, times=rows), "soak", case)
            tally.soak_completed += rows
            judgements = self._judge(calls, bank, [picked[:rows] for picked in picks], known)
            walk.lags = {
                (case, layer): self._lag(
                    calls[layer], judgements[layer].rank, bank, layer, picked[:rows]
                )
                for layer, picked in enumerate(picks)
                if not judgements[layer].ok
            }
            given = [
                self._given(bank, picked, j) for picked, j in zip(picks, judgements, strict=True)
            ]
            walk.expect_right(case, judgements, "soak", tally.soak_passed, given)
            tally.soak_passed += rows
            left -= rows
        walk.expect_untouched(case, "soak")
        tally.passed("soak")

    def _is_enough(self, case: int, deadline: float) -> bool:
        """A rehearsal, which is no evidence anyhow, may end early where replays are slow
        (an interpreted kernel takes a second each); the row says so."""
        tally = self.walk.tally(case)
        if self.walk.session.on_cuda or time.monotonic() < deadline or not tally.soak_passed:
            return False
        tally.soak_asked = tally.soak_passed
        self.walk.pages[case].note(f"soak ended after {tally.soak_passed} replays: slow here")
        return True

    def _depth(self, case: int, ring: int) -> int:
        slow = self.walk.tally(case).seconds_a_replay > _PATIENCE_ON_CPU / ring
        return _SLOW_BURST if slow and not self.walk.session.on_cuda else ring

    def _stage(self, case: int, layer: int, buffers: Everywhere, bank: Bank) -> list[int]:
        walk = self.walk
        picked = [walk.random.randrange(bank.entries) for _ in range(buffers.rows)]
        buffers.poison(walk.integers(case, f"B{layer}"))
        buffers.stage_rows(bank.values, torch.tensor(picked, device=walk.truth.device))
        return picked

    def _judge(
        self,
        calls: Sequence[Everywhere],
        bank: Bank,
        picks: Sequence[list[int]],
        known: Sequence[dict[int, Known]],
    ) -> list[Judgement]:
        """Judge every call of the graph: those whose answers are all known together, the others
        one after the other, for their rows may be many."""
        asked: dict[int, list[Question[bool]]] = {
            layer: self._as_known(calls[layer], bank, picked, known[layer])
            for layer, picked in enumerate(picks)
            if all(entry in known[layer] for entry in picked)
        }
        told = iter(ask([one for ranks in asked.values() for one in ranks]))
        found = {layer: [next(told) for _ in ranks] for layer, ranks in asked.items()}
        return [
            Judgement.right(buffers.case)._replace(fine=frozenset(range(len(buffers.ranks))))
            if layer in found and all(found[layer])
            else self._judge_anew(buffers, bank, layer, picks[layer], known[layer])
            for layer, buffers in enumerate(calls)
        ]

    def _as_known(
        self, buffers: Everywhere, bank: Bank, picked: list[int], known: dict[int, Known]
    ) -> list[Question[bool]]:
        """One question a rank: are its answers those that were found right?"""
        last = {name: values[picked[-1]] for name, values in bank.values.items()}
        return [
            as_right_as(
                one,
                [[known[entry][rank][o] for entry in picked] for o in range(len(one.outputs))],
                buffers.values_of(rank, last),
            )
            for rank, one in enumerate(buffers.ranks)
        ]

    def _judge_anew(
        self,
        buffers: Everywhere,
        bank: Bank,
        layer: int,
        picked: list[int],
        known: dict[int, Known],
    ) -> Judgement:
        last = {name: values[picked[-1]] for name, values in bank.values.items()}
        index = torch.tensor(picked, device=self.walk.truth.device)
        expected = {
            name: answers.index_select(0, index) for name, answers in bank.expected[layer].items()
        }
        # What is found right is kept: it must be what was judged, and not what stands there
        # now.
        collected = buffers.collect()
        judgement = self.walk.judge_rows(buffers, collected, expected, last)
        if judgement.ok:
            for row, entry in enumerate(picked):
                known.setdefault(
                    entry, [[answers.rows[row].clone() for answers in one] for one in collected]
                )
        return judgement

    def _given(self, bank: Bank, picked: list[int], judgement: Judgement) -> Values:
        """What the call was given whose answer is wrong; the last one, where none is."""
        return {name: values[picked[judgement.row]] for name, values in bank.values.items()}

    def _lag(
        self, buffers: Everywhere, rank: int, bank: Bank, layer: int, picked: list[int]
    ) -> int:
        """How many replays a rank's answers of a burst are behind; 0 where they are not."""
        answers = buffers.ranks[rank].collect()
        rows = {a.output.tensor.name: a.output.cells(a.rows) for a in answers}
        name = next(iter(rows))
        for lag in range(1, min(_MOST_LAG, len(picked) - _FEWEST_ROWS) + 1):
            late = range(lag, min(len(picked), lag + _LAGGING_ROWS))
            if all(picked[row - lag] == picked[row] for row in late):
                # The same draws at both places: they are no more behind than right.
                continue
            index = torch.tensor([picked[row - lag] for row in late], device=rows[name].device)
            due = bank.expected[layer][name].index_select(0, index)
            measured, _ = measure(
                self.walk.slot, buffers.case, due, rows[name][late.start : late.stop]
            )
            if all(one.ok for one in measured):
                return lag
        return 0

    def growth(self) -> None:
        """Once a variant, on one case: what climbs there climbs everywhere. The smallest
        of which a few hundred leaked outputs show in the driver's count."""
        walk = self.walk
        left = walk.sequence()
        if not left or walk.order != "descending" or not walk.session.on_cuda:
            return
        telling = [i for i in left if row_bytes(walk.pages[i].case) >= _TELLING_BYTES]
        case = min(telling, key=lambda i: row_bytes(walk.pages[i].case)) if telling else left[0]

        def measure(case: int) -> None:
            self._lay_ready(case)
            walk.session.quiet()
            graph = "capture" in walk.tally(case).stages
            found = climbs(walk.session, case, graph)
            walk.probes.add("growth")
            for climb in found:
                # No line is known: the control must be seen not to climb.
                walk.pages[case].unplaced = True
                message = (
                    f"device memory climbs by {climb.nbytes} bytes over {climb.times} {climb.what}"
                )
                raise CaseFailed(
                    Finding(rule="CG504", stage=climb.stage, message=message, order=walk.order)
                )

        walk.alone(case, measure)

    def _lay_ready(self, case: int) -> None:
        """Valid inputs for calls and replays whose answers nobody compares: the cases share
        their staging, and another one's indices may be out of this one's range."""
        walk, session = self.walk, self.walk.session
        one = walk.pages[case].case
        for buffers in (session.eager[case][0], *session.captured[case]):
            buffers.stage_everywhere(walk.truth.values(one, 0, "growth", 0, "any"))
        walk.wait()
