"""Is a wrong answer a late one, and which live inputs does it fail to follow?

Asked once a case has failed on replay and the course is over: one dynamic input at a time
is changed, the others held still. Nothing here decides whether a case fails.
"""

import torch

from cacheon.engine.grader.layout import LAYERS
from cacheon.engine.grader.questions import ask
from cacheon.engine.grader.session import Lost, Refused
from cacheon.engine.grader.truth import Values
from cacheon.engine.grader.walk import Walk
from cacheon.engine.outcome import Finding
from cacheon.engine.protocol import Replay

_GENERIC = ("CG301", "CG303", "CG304", "CG701")
"""Rules that a failure to follow explains better than they do."""


class Following:
    """Looks at every case whose replays went wrong, and says more about why."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def run(self) -> None:
        """A worker that is lost here, or refuses, takes nothing away from what was seen."""
        walk = self.walk
        for case, page in enumerate(walk.pages):
            if not page.failed or not walk.tally(case).captured:
                continue
            finding = page.findings[0]
            if finding.rule not in _GENERIC or finding.place is not None:
                continue
            try:
                if self.is_late(case):
                    page.findings[0] = _told(finding, "CG303", "the answer is of an earlier call")
                elif names := self.unfollowed(case):
                    words = f"the output does not follow {' nor '.join(names)}"
                    page.findings[0] = _told(finding, "CG301", words)
            except (Lost, Refused):
                return

    def is_late(self, case: int) -> bool:
        """Whether the first call of a replay answers for inputs of the replay before, of
        whichever of its calls. Raises Lost, Refused."""
        walk = self.walk
        one = walk.pages[case].case
        first, second = self._drawn(case, 0), self._drawn(case, 1)
        self._answers(case, first)
        self._answers(case, second)
        buffers = walk.session.captured[case][0]
        return any(
            walk.judge(buffers, walk.truth.expected(one, layer, first[layer]), second[0]).ok
            for layer in range(LAYERS)
        )

    def unfollowed(self, case: int) -> tuple[str, ...]:
        """Dynamic inputs to which a call of the graph does not answer. Inputs whose change
        would not show in the answer are not among them. Raises Lost, Refused."""
        walk = self.walk
        one = walk.pages[case].case
        dynamic = [t.name for t in one.tensors if t.dynamic and t.role == "activation"]
        base, other = self._drawn(case, 0), self._drawn(case, 1)
        still = self._answers(case, base)
        ignored: set[str] = set()
        for name in dynamic:
            moved: list[Values] = [{**base[i], name: other[i][name]} for i in range(LAYERS)]
            answers = self._answers(case, moved)
            due = ask(
                [
                    walk.truth.tells(
                        one,
                        walk.truth.expected(one, layer, base[layer]),
                        walk.truth.expected(one, layer, moved[layer]),
                    )
                    for layer in range(LAYERS)
                ]
            )
            for layer in range(LAYERS):
                if due[layer] and torch.equal(still[layer], answers[layer]):
                    ignored.add(name)
        return tuple(name for name in dynamic if name in ignored)

    def _drawn(self, case: int, turn: int) -> list[Values]:
        """Values of every call, made with its own layer's weights in mind."""
        walk = self.walk
        one = walk.pages[case].case
        return [walk.truth.values(one, layer, "follow", turn, "any") for layer in range(LAYERS)]

    def _answers(self, case: int, values: list[Values]) -> list[torch.Tensor]:
        """The log of one replay, an output after the other, uint8 a call."""
        walk, calls = self.walk, self.walk.session.captured[case]
        for layer, buffers in enumerate(calls):
            walk.stage(case, buffers, f"B{layer}", values[layer])
        walk.restart_counter()
        walk.wait()
        walk.session.ask(Replay(case=case, times=1), "replay", case)
        return [buffers.first_rows() for buffers in calls]


def _told(finding: Finding, rule: str, words: str) -> Finding:
    return Finding(
        rule=rule,
        stage=finding.stage,
        message=f"{finding.message}; {words}"[:900],
        place=finding.place,
        order=finding.order,
    )
