"""A group over ranks that say what the test wants them to say."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
import torch
from tests.conftest import EXAMPLES
from tests.engine.host.test_session import LEAVE, SILENCE, UP, Puppet, Saying

from cacheon.bundle import open_bundle
from cacheon.contract.case import Case
from cacheon.contract.slots import slot
from cacheon.engine.grader.group import Group
from cacheon.engine.grader.recruits import Recruits
from cacheon.engine.grader.session import Lost, Refused
from cacheon.engine.grader.truth import Truth
from cacheon.engine.ledger import NBYTES, Ledger
from cacheon.engine.protocol import (
    AnyCommand,
    Arrange,
    Call,
    Capture,
    Done,
    Ended,
    JoinGroup,
    MakeSlab,
    ProcessPort,
    Raised,
    Where,
)
from cacheon.engine.request import Budget, DeviceFacts
from cacheon.engine.seeds import another, skew_of
from cacheon.records.errors import InfrastructureError
from cacheon.workflows.options import Options
from cacheon.workflows.selection import request_for

SLOT = "collective.all_reduce"
QUICK = Budget(command=0.6, compile=1.2)
PATIENT = Budget(command=60.0, compile=60.0)
HERE = Where(file="kernels/k.py", line=7, function="all_reduce", source="raise")
THERE = Where(file="kernels/k.py", line=9, function="all_reduce", source="raise")
Answering = Callable[[int, AnyCommand], Saying]


def one_case() -> tuple[Case, ...]:
    bundle = open_bundle(EXAMPLES / "good" / "torch_all_reduce")
    facts = DeviceFacts(device="cpu", name="cpu", architecture="", torch="")
    options = Options(world_size=2)
    request = request_for(bundle.variants[0], Path("/nowhere"), options, facts, seed=3)
    return (min(request.cases, key=lambda case: sum(t.span for t in case.tensors)),)


class Puppets:
    """Starts a puppet a rank; each writes what it is told into its ledger, at any command."""

    def __init__(self, answer: Answering, calls: dict[int, list[str]] | None = None) -> None:
        self.answer, self.calls = answer, calls or {}
        self.puppets: list[Puppet] = []
        self.ended: list[tuple[int, bool, bool]] = []
        self.located: list[Sequence[int]] = []
        self.ledgers: dict[int, Ledger] = {}

    def start(self, device: int) -> tuple[int, ProcessPort]:
        def answer(command: AnyCommand, rank: int = device) -> Saying:
            puppet = self.puppets[rank]
            if isinstance(command, JoinGroup):
                descriptor = puppet.wire.descriptor()
                self.ledgers[rank] = Ledger(descriptor)
                os.close(descriptor)
            if isinstance(command, MakeSlab | Arrange | JoinGroup):
                return Done()
            self.ledgers[rank].clear()
            for what in self.calls.get(rank, []):
                self.ledgers[rank].add(what)
            return self.answer(rank, command)

        self.puppets.append(Puppet(answer, UP))
        return 40 + device, ProcessPort(self.puppets[-1].ours)

    def locate(self, workers: Sequence[int]) -> tuple[Where | None, ...]:
        self.located.append(tuple(workers))
        return tuple(HERE if worker == 41 else None for worker in workers)

    def end(self, worker: int, hung: bool, killed: bool) -> Ended:
        self.ended.append((worker, hung, killed))
        return Ended(status=worker)

    def quiet(self) -> None:
        raise AssertionError("a CPU is never asked to be quiet")


Opening = Callable[..., tuple[Group, Puppets]]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opening]:
    groups: list[Group] = []
    keepers: list[Puppets] = []

    def opening(
        answer: Answering, calls: dict[int, list[str]] | None = None, ranks: int = 2
    ) -> tuple[Group, Puppets]:
        keeper = Puppets(answer, calls)
        cases, truth = one_case(), Truth(SLOT, 3, torch.device("cpu"))
        recruits = Recruits(keeper, ranks, str(tmp_path), 5)
        group = Group(keeper, slot(SLOT), cases, None, (2,), QUICK, truth, True, recruits)
        groups.append(group)
        keepers.append(keeper)
        return group, keeper

    yield opening
    for group in groups:
        for session in group.sessions:
            session.wire.close()
    for keeper in keepers:
        for ledger in keeper.ledgers.values():
            ledger.close()


def saying(*answers: Saying) -> Answering:
    return lambda rank, command: answers[rank]


CALL, CAPTURE = Call(case=0, which=0), Capture(case=0)


def test_every_rank_answers(opened: Opening) -> None:
    group, keeper = opened(saying(Done(), Done(returned=True)))
    assert group.ask(CALL, "eager", 0) == (Done(), Done(returned=True))
    assert all(isinstance(puppet.heard[-1], Call) for puppet in keeper.puppets)
    joined = [
        each for puppet in keeper.puppets for each in puppet.heard if isinstance(each, JoinGroup)
    ]
    assert [(each.rank, each.world) for each in joined] == [(0, 2), (1, 2)]
    assert len({each.meeting for each in joined}) == 1
    assert {each.skew for each in joined} == {skew_of(5)}


def test_what_ranks_are_told_does_not_give_the_seed_away() -> None:
    """A candidate reads all that its worker was told; with the seed it draws what comes."""
    skews = {skew_of(seed) for seed in range(1 << 12)}
    assert len(skews) > 1 << 11
    assert all(0 <= skew < 1 << 16 for skew in skews)
    assert all(skew_of(seed << 16) != skew_of(seed) != seed for seed in range(2, 20))
    assert len({another(seed) for seed in range(1 << 12)}) == 1 << 12
    assert all(0 <= another(seed) < 1 << 48 for seed in range(1 << 12))


def test_ranks_that_refuse_alike_are_in_step(opened: Opening) -> None:
    refusal = Raised(kind="ValueError", message="no", where=HERE)
    group, _ = opened(saying(refusal, refusal))
    with pytest.raises(Refused) as caught:
        group.ask(CALL, "eager", 0)
    assert caught.value.rank == -1


def test_ranks_that_refuse_alike_after_different_collectives_are_not(opened: Opening) -> None:
    """What one began and another did not would be met by what the next step begins."""
    refusal = Raised(kind="ValueError", message="no", where=HERE)
    group, _ = opened(saying(refusal, refusal), {0: ["all_reduce float32 4"]})
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("parted", -1)
    assert caught.value.refused is not None
    assert (caught.value.refused.reply, caught.value.refused.rank) == (refusal, -1)


@pytest.mark.parametrize(
    "other", [Done(), SILENCE, Raised(kind="ValueError", message="no", where=THERE)]
)
def test_one_that_refuses_parts_the_ranks(opened: Opening, other: Saying) -> None:
    group, keeper = opened(saying(other, Raised(kind="ValueError", message="no", where=HERE)))
    started = time.monotonic()
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert time.monotonic() - started < QUICK.command + 5
    assert caught.value.how == "parted"
    assert caught.value.refused is not None
    group.close(caught.value)
    assert {killed for _, _, killed in keeper.ended} == {True}


def test_a_rank_that_is_gone_is_graver_than_what_others_met(opened: Opening) -> None:
    group, keeper = opened(saying(Raised(kind="RuntimeError", message="peer", where=HERE), LEAVE))
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("died", 1)
    assert group.close(caught.value).status == 41
    assert (41, False, False) in keeper.ended, "a dead one's own status must not be hidden"
    assert (40, False, True) in keeper.ended


def test_a_rank_that_died_of_another_collective_is_not_to_blame(opened: Opening) -> None:
    called = {0: ["all_reduce float32 4"], 1: ["all_reduce float32 3"]}
    group, _ = opened(
        saying(Raised(kind="RuntimeError", message="peer", where=HERE), LEAVE), called
    )
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank, caught.value.apart) == ("parted", -1, True)
    assert "rank 0 calls all_reduce float32 4, rank 1 calls all_reduce float32 3" in (
        caught.value.detail
    )


def test_a_rank_that_died_elsewhere_is(opened: Opening) -> None:
    called: dict[int, list[str]] = {0: ["all_reduce float32 4"], 1: []}
    group, _ = opened(saying(SILENCE, LEAVE), called)
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("died", 1)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_need_for_a_gpu_hides_no_fault_of_another_rank(opened: Opening, rank: int) -> None:
    needs = Raised(kind="", message="a GPU", where=HERE, needs_cuda=True)
    fault = Raised(kind="ValueError", message="no", where=THERE)
    group, _ = opened(saying(*((needs, fault) if rank else (fault, needs))))
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert caught.value.refused is not None
    assert (caught.value.refused.reply, caught.value.refused.rank) == (fault, rank)


def test_a_line_that_another_rank_shows_is_said_to_be_its(opened: Opening) -> None:
    """Only rank 1 shows one, and rank 0 is the one that is waited for."""
    group, _ = opened(saying(SILENCE, SILENCE), {1: ["all_reduce float32 4"]})
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert caught.value.rank == 0
    assert group.close(caught.value).where == HERE
    assert caught.value.detail.endswith("; the line is where rank 1 waits")


def test_nonsense_is_blamed_on_its_rank(opened: Opening) -> None:
    group, _ = opened(saying(Done(), (4).to_bytes(4, "big") + b"\xc1\xc1\xc1\xc1"))
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("garbled", 1)


def test_half_a_frame_is_a_hang(opened: Opening) -> None:
    group, _ = opened(saying((64).to_bytes(4, "big") + b"\x80", Done()))
    started = time.monotonic()
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("hung", 0)
    assert time.monotonic() - started < QUICK.command + 5


def test_a_lost_device_is_blamed_on_its_rank(opened: Opening) -> None:
    sticky = Raised(kind="AcceleratorError", message="illegal address", sticky=True)
    group, _ = opened(saying(sticky, Raised(kind="RuntimeError", message="peer")))
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("sticky", 0)


def test_a_hang_ends_at_its_deadline_and_says_who_waits(opened: Opening) -> None:
    group, keeper = opened(saying(SILENCE, SILENCE), {0: ["all_reduce float32 4"]})
    started = time.monotonic()
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert QUICK.command <= time.monotonic() - started < QUICK.command + 5
    assert (caught.value.how, caught.value.rank, caught.value.apart) == ("hung", 1, False)
    assert "rank 1 has not answered and called no collective" in caught.value.detail
    ended = group.close(caught.value)
    assert keeper.located == [(40, 41)], "asked while all of them lived"
    assert ended.where == HERE
    assert {killed for _, _, killed in keeper.ended} == {True}


def test_what_may_compile_has_a_deadline_of_its_own(opened: Opening) -> None:
    group, _ = opened(saying(SILENCE, Done()))
    started = time.monotonic()
    with pytest.raises(Lost):
        group.ask(CALL, "eager", 0, compiles=True)
    assert time.monotonic() - started >= QUICK.compile


def test_eager_calls_that_differ_part_the_ranks(opened: Opening) -> None:
    group, _ = opened(saying(Done(), Done()), {0: ["all_reduce float32 4"]})
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.apart) == ("parted", True)


def test_captures_that_differ_leave_the_ranks_in_step(opened: Opening) -> None:
    group, _ = opened(saying(Done(), Done()), {0: ["all_reduce float32 4"]})
    assert group.ask(CAPTURE, "capture", 0) == (Done(), Done())
    parting = group.parting()
    assert parting is not None
    assert "rank 0 calls all_reduce float32 4, rank 1 calls nothing" in parting.words


def test_values_go_to_their_ranks(opened: Opening) -> None:
    group, _ = opened(saying(Done(), Done()))
    truth = Truth(SLOT, 3, torch.device("cpu"))
    (case,) = group.cases
    values = truth.values(case, 0, "A", 0, "any")
    buffers = group.eager[0][0]
    buffers.poison({})
    buffers.stage(values)
    for rank, one in enumerate(buffers.ranks):
        assert torch.equal(one.staging["x"][0], values["x"][rank])
        assert bool(one.inputs["x"].isnan().all())
    buffers.lay(values)
    assert torch.equal(buffers.ranks[1].inputs["x"], values["x"][1])
    assert buffers.outputs_untouched()
    buffers.ranks[1].outputs["out"].region[20000] = 7
    assert not buffers.outputs_untouched()


def test_one_that_cannot_join_is_infrastructure(opened: Opening, tmp_path: Path) -> None:
    class Deserter(Puppets):
        def start(self, device: int) -> tuple[int, ProcessPort]:
            number, port = super().start(device)
            if device == 1:
                answer = self.puppets[1].answer

                def leaving(command: AnyCommand) -> Saying:
                    return LEAVE if isinstance(command, JoinGroup) else answer(command)

                self.puppets[1].answer = leaving
            return number, port

    keeper = Deserter(saying(Done(), Done()))
    truth, recruits = Truth(SLOT, 3, torch.device("cpu")), Recruits(keeper, 2, str(tmp_path), 5)
    with pytest.raises(InfrastructureError, match="lost before it"):
        Group(keeper, slot(SLOT), one_case(), None, (2,), QUICK, truth, True, recruits)
    assert sorted(worker for worker, _, _ in keeper.ended) == [40, 41]


# --- ranks that attack ---------------------------------------------------------------------------


def frames(*replies: Done | Raised) -> bytes:
    """Several answers in one piece."""
    bodies = [msgspec.msgpack.encode(each) for each in replies]
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_second_answer_is_no_answer_to_the_next_command(opened: Opening, rank: int) -> None:
    """It would be right whatever the next command finds."""
    twice = frames(Done(returned=True), Done(returned=True))
    group, keeper = opened(saying(*((Done(), twice) if rank else (twice, Done()))))
    group.ask(CALL, "eager", 0)
    group.budget = PATIENT
    started = time.monotonic()
    with pytest.raises(Lost) as caught:
        group.ask(CAPTURE, "capture", 0)
    assert (caught.value.how, caught.value.rank) == ("garbled", rank)
    assert "it speaks without being asked" in caught.value.detail
    # The other was told, and has answered or will: nobody waits out the deadline for it.
    assert time.monotonic() - started < PATIENT.command / 6
    assert not any(isinstance(each, Capture) for each in keeper.puppets[rank].heard)


def test_a_word_between_two_commands_is_no_answer(opened: Opening) -> None:
    group, keeper = opened(saying(Done(), Done()))
    group.ask(CALL, "eager", 0)
    keeper.puppets[1].wire.sock.sendall(frames(Done()))
    with pytest.raises(Lost) as caught:
        group.ask(CAPTURE, "capture", 0)
    assert (caught.value.how, caught.value.rank) == ("garbled", 1)


@pytest.mark.parametrize("part", [1, 3, 5])
def test_the_beginning_of_a_second_answer_is_one_too(opened: Opening, part: int) -> None:
    group, _ = opened(saying(frames(Done()) + frames(Done())[:part], Done()))
    group.ask(CALL, "eager", 0)
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("garbled", 0)


def test_a_flood_of_answers_ends_at_once(opened: Opening) -> None:
    group, _ = opened(saying(Done(), frames(*[Done()] * 1000)))
    group.budget = PATIENT
    started = time.monotonic()
    group.ask(CALL, "eager", 0)
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("garbled", 1)
    assert time.monotonic() - started < PATIENT.command / 6


def leaving_after(opened: Opening, other: Saying, called: dict[int, list[str]]) -> Group:
    """Rank 1 answers the first command and is gone before the second, to which rank 0 says
    this."""
    group, keeper = opened(lambda rank, command: Done(), called)
    group.ask(CALL, "eager", 0)
    keeper.puppets[1].wire.sock.shutdown(socket.SHUT_RDWR)
    keeper.puppets[0].answer = lambda command: other
    return group


def test_nobody_waits_for_the_peers_of_a_rank_that_left_before(opened: Opening) -> None:
    group = leaving_after(opened, SILENCE, {})
    group.budget = PATIENT
    started = time.monotonic()
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("died", 1)
    assert time.monotonic() - started < PATIENT.command / 6


def test_a_rank_that_left_before_called_nothing_in_this_command(opened: Opening) -> None:
    """What its ledger held of another case's call is no collective that killed it."""
    called = {0: ["all_reduce float32 4"], 1: ["all_reduce float32 4"]}
    group = leaving_after(opened, SILENCE, called)
    called[0][0] = "all_reduce float32 9"
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank, caught.value.apart) == ("died", 1, False)


def test_a_late_answer_does_not_unsay_a_hang(opened: Opening) -> None:
    def answer(rank: int, command: AnyCommand) -> Saying:
        if rank == 1:
            time.sleep(QUICK.command + 0.3)
        return Done()

    group, keeper = opened(answer)
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("hung", 1)
    time.sleep(0.5)
    group.close(caught.value)
    assert {killed for _, _, killed in keeper.ended} == {True}


@pytest.mark.parametrize("byte", [b"\xff", b"\x01", b"x", b" "])
@pytest.mark.parametrize("other", [Done(), SILENCE, LEAVE, Raised(kind="E", message="no")])
def test_a_ledger_of_garbage_helps_nobody(opened: Opening, byte: bytes, other: Saying) -> None:
    """Nor does it hurt the grader: what the ranks said is understood as before."""

    def answer(rank: int, command: AnyCommand) -> Saying:
        if rank == 1:
            keeper.ledgers[1]._page[:] = byte * NBYTES
        return other if rank else Done()

    group, keeper = opened(answer, {0: ["all_reduce float32 4"]})
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert caught.value.how in ("parted", "hung", "died")
    assert caught.value.detail.isprintable()


def test_a_forged_ledger_passes_no_rank_that_stays_away(opened: Opening) -> None:
    """Rank 1 says that it calls what the others call, and waits for ever."""
    same = {0: ["all_reduce float32 4"], 1: ["all_reduce float32 4"]}
    group, _ = opened(saying(Done(), SILENCE), same)
    with pytest.raises(Lost) as caught:
        group.ask(CALL, "eager", 0)
    assert (caught.value.how, caught.value.rank) == ("hung", 1)


def test_a_part_of_a_group_is_never_taken_for_one(tmp_path: Path) -> None:
    class Reluctant(Puppets):
        def start(self, device: int) -> tuple[int, ProcessPort]:
            if device == 1 and not self.ended:
                raise InfrastructureError("no worker came")
            return super().start(device)

    keeper = Reluctant(saying(Done(), Done()))
    recruits = Recruits(keeper, 2, str(tmp_path), 5)
    with pytest.raises(InfrastructureError, match="no worker came"):
        recruits.call()
    assert keeper.ended == [(40, False, True)]
    keeper.puppets.clear()
    taken = recruits.take()
    assert [recruit.worker for recruit in taken] == [40, 41]
    recruits.end(taken)
