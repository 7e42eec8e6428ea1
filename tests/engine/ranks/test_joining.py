"""Workers that become ranks: in processes of their own, with the real group."""

import contextlib
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from cacheon.engine.grader.memory import SharedLedger
from cacheon.engine.ledger import Called, Ledger
from cacheon.engine.protocol import JoinGroup

pytestmark = pytest.mark.slow
WORLD = 2
_FORK = multiprocessing.get_context("fork")


def rank_of(
    rank: int, meeting: str, descriptor: int, body: Callable[[Any], object], told: Connection
) -> None:
    """The life of one rank: join, do what the test wants, tell what came of it."""
    import torch

    from cacheon.engine.worker.ranks import Ranks

    torch.set_num_threads(1)
    command = JoinGroup(rank=rank, world=WORLD, meeting=meeting, skew=1)
    ranks = Ranks(command, Ledger(descriptor), torch.device("cpu"))
    try:
        told.send(body(ranks))
    except BaseException as error:
        told.send(f"{type(error).__name__}: {getattr(error, 'rule', '')} {error}")
    # Peers still read from our sockets: nobody leaves before all have said their word.
    with contextlib.suppress(EOFError):
        told.recv()
    # A group is not taken down by halves.
    os._exit(0)


def together(
    body: Callable[[Any], object], tmp_path: Path
) -> tuple[list[object], list[tuple[Called, ...]]]:
    """What `body` came to on every rank, and what each called."""
    ledgers = [SharedLedger() for _ in range(WORLD)]
    ends, children = [], []
    for rank, ledger in enumerate(ledgers):
        ours, theirs = _FORK.Pipe()
        child = _FORK.Process(
            target=rank_of,
            args=(rank, str(tmp_path / "meeting"), ledger.descriptor, body, theirs),
        )
        child.start()
        theirs.close()
        ends.append(ours)
        children.append(child)
    said = []
    for end in ends:
        assert end.poll(60), "a rank says nothing"
        said.append(end.recv())
    for end, child in zip(ends, children, strict=True):
        end.send("all have")
        child.join(10)
    called = [ledger.read() for ledger in ledgers]
    for ledger in ledgers:
        ledger.close()
    return said, called


def sums(ranks: Any) -> object:
    import torch
    import torch.distributed as dist

    ranks.during("call")
    x = torch.full((2, 3), float(ranks.rank + 1))
    dist.all_reduce(x, group=ranks.group)
    ranks.group.broadcast(x, 1).wait()
    parts = [torch.empty(2, 3) for _ in range(WORLD)]
    dist.all_gather(parts, x, group=ranks.group)
    ranks.settle()
    return x.sum().item()


def test_what_a_rank_calls_stands_in_its_ledger_whichever_way(tmp_path: Path) -> None:
    said, called = together(sums, tmp_path)
    assert said == [18.0, 18.0]
    wanted = ("all_reduce float32 2x3", "broadcast float32 2x3", "all_gather float32 2x3")
    for each in called:
        assert [one.what.split(" from ")[0] for one in each] == list(wanted)


def hides_a_new_group(ranks: Any) -> object:
    import torch.distributed as dist

    ranks.during("warm")
    first = dist.new_group([0, 1])
    ranks.settle()
    ranks.during("call")
    with contextlib.suppress(Exception):
        dist.new_group([0, 1])
    try:
        ranks.settle()
    except Exception as error:
        return f"{getattr(error, 'rule', '')} {first.size()}"
    return "nothing was refused"


def test_a_group_may_be_made_in_the_first_calls_and_not_in_later_ones(tmp_path: Path) -> None:
    assert together(hides_a_new_group, tmp_path)[0] == ["CG601 2"] * WORLD


def waits_under_capture(ranks: Any) -> object:
    import torch.distributed as dist

    ranks.during("call")
    dist.barrier(group=ranks.group)
    ranks.settle()
    ranks.during("capture")
    dist.barrier(group=ranks.group)
    return "nothing was refused"


def test_a_barrier_is_refused_under_capture_only(tmp_path: Path) -> None:
    assert (
        together(waits_under_capture, tmp_path)[0]
        == ["Failure: CG105 `barrier` waits on the host"] * WORLD
    )


def ends_the_group(ranks: Any) -> object:
    import torch.distributed as dist

    ranks.during("load")
    dist.destroy_process_group()
    return "nothing was refused"


def test_the_group_is_not_the_candidates_to_end(tmp_path: Path) -> None:
    said, _ = together(ends_the_group, tmp_path)
    assert said == ["Failure: CG601 `destroy_process_group` in the candidate"] * WORLD


def talks_among_fewer(ranks: Any) -> object:
    import torch
    import torch.distributed as dist

    ranks.during("warm")
    alone = dist.new_group([0])
    ranks.during("call")
    if ranks.rank == 0:
        dist.all_reduce(torch.ones(4), group=alone)
    return "done"


def test_what_fewer_ranks_do_is_told_apart(tmp_path: Path) -> None:
    _, called = together(talks_among_fewer, tmp_path)
    assert [one.what for one in called[0]] == ["of 1: all_reduce float32 4"]
    assert called[1] == ()
