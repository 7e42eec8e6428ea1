"""The graders of an examination, as the host sees them."""

import contextlib
from collections.abc import Sequence

from cacheon.engine.host.child import Child
from cacheon.engine.outcome import OrderName, VariantOutcome
from cacheon.engine.protocol import TRUSTED_FRAME, AnyAsk, AnyTell, Begin, Closed, Wire
from cacheon.engine.request import RunSettings

GraderWire = Wire[AnyTell, AnyAsk]


class Lost(Exception):
    """A grader that can answer no more."""

    def __init__(self, seat: "Seat", why: str = "") -> None:
        super().__init__(why)
        self.seat, self.why = seat, why


class Seat:
    """A grader, and how far it is with the variant before it."""

    def __init__(self, child: Child, settings: RunSettings) -> None:
        self.child = child
        self.wire: GraderWire = Wire(child.sock, AnyAsk, limit=TRUSTED_FRAME)
        self.clear(())
        with contextlib.suppress(Closed):
            # One that is gone already is met when it should answer.
            self.wire.send(Begin(settings=settings))

    def clear(self, orders: Sequence[OrderName]) -> None:
        """It is to walk these orders of a variant, and has not begun."""
        self.orders = tuple(orders)
        self.outcome: VariantOutcome | None = None
        self.wants_quiet = False
        self.done = 0
