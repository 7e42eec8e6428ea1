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


# --- whichever way a collective is called --------------------------------------------------------


def reduces_otherwise(ranks: Any) -> object:
    import torch
    import torch.distributed as dist

    ranks.during("call")
    x = torch.full((4,), float(ranks.rank + 1))
    dist.all_reduce(x, op=dist.ReduceOp.SUM if ranks.rank else dist.ReduceOp.MAX)
    ranks.group.reduce(x, 1, dist.ReduceOp.MIN).wait()
    dist.broadcast(x, src=1)
    return "done"


def test_how_a_rank_reduces_is_noted(tmp_path: Path) -> None:
    _, called = together(reduces_otherwise, tmp_path)
    last = ["reduce min float32 4 to 1", "broadcast float32 4 from 1"]
    assert [one.what for one in called[0]] == ["all_reduce max float32 4", *last]
    assert [one.what for one in called[1]] == ["all_reduce float32 4", *last]


def calls_below(ranks: Any) -> object:
    """No dispatch mode stands around it, as none does on CUDA."""
    import torch
    from torch.distributed import _functional_collectives as functional

    ranks.during("call")
    x, name = torch.full((4,), float(ranks.rank + 1)), ranks.group.group_name
    total = functional.all_reduce(x, "sum", ranks.group) + 0
    largest = torch.ops._c10d_functional.all_reduce(x, "max", name)
    torch.ops._c10d_functional.wait_tensor(largest)
    whole = torch.ops._c10d_functional.all_gather_into_tensor.default(x, WORLD, name)
    torch.ops._c10d_functional.wait_tensor(whole)
    theirs = torch.ops._c10d_functional.broadcast(x, 1, name)
    torch.ops._c10d_functional.wait_tensor(theirs)
    _, work = torch.ops.c10d.allreduce_(
        [x], ranks.group.boxed(), torch.classes.c10d.ReduceOp(), None, True, -1
    )
    work.wait()
    ranks.group._get_backend(torch.device("cpu")).allreduce([x]).wait()
    ranks.settle()
    return [total[0].item(), largest[0].item(), whole.sum().item(), theirs[0].item(), x[0].item()]


def test_operators_and_functional_collectives_are_noted_once(tmp_path: Path) -> None:
    said, called = together(calls_below, tmp_path)
    assert said == [[3.0, 2.0, 12.0, 2.0, 6.0]] * WORLD
    for each in called:
        assert [one.what for one in each] == [
            "all_reduce float32 4",
            "all_reduce max float32 4",
            "all_gather_into_tensor float32 8",
            "broadcast float32 4 from 1",
            "all_reduce float32 4",
            "all_reduce float32 4",
        ]


def talks_below_among_fewer(ranks: Any) -> object:
    import torch
    import torch.distributed as dist

    ranks.during("warm")
    alone = dist.new_group([0])
    ranks.during("call")
    if ranks.rank == 0:
        x = torch.ones(4)
        torch.ops._c10d_functional.all_reduce_(x, "sum", alone.group_name)
        torch.ops._c10d_functional.wait_tensor(x)
        torch.ops.c10d.barrier(x, alone.boxed(), [], True, -1).wait()
    with contextlib.suppress(Exception):
        torch.ops._c10d_functional.all_reduce(torch.ones(4), "sum", "no such group")
    return "done"


def test_operators_among_fewer_are_told_apart(tmp_path: Path) -> None:
    said, called = together(talks_below_among_fewer, tmp_path)
    assert said == ["done"] * WORLD
    tried = "all_reduce float32 4"
    assert [one.what for one in called[0]] == [f"of 1: {tried}", "of 1: barrier", tried]
    assert [one.what for one in called[1]] == [tried]


def only_traces(ranks: Any) -> object:
    """As a compiler does on one rank alone, where the other finds what was compiled."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed import _functional_collectives as functional

    ranks.during("warm")
    if ranks.rank == 0:
        with FakeTensorMode() as mode:
            fake = torch.empty(4)
            torch.ops._c10d_functional.all_reduce(fake, "sum", ranks.group.group_name)
            ranks.group.allreduce([fake])
        torch.ops._c10d_functional.all_reduce(fake, "sum", ranks.group.group_name)
        torch.ops._c10d_functional.all_reduce(
            torch.empty(4, device="meta"), "sum", ranks.group.group_name
        )
        assert mode is not None
    # What a wrapper holds is summed, once.
    twice = functional.all_reduce(torch.ones(4), "sum", ranks.group)
    return functional.all_reduce(twice, "sum", ranks.group)[0].item()


def test_what_is_only_traced_is_not_called(tmp_path: Path) -> None:
    said, called = together(only_traces, tmp_path)
    assert said == [4.0] * WORLD
    assert called[0] == called[1] == (Called(0, "all_reduce float32 4"),) * 2


def stays_what_it_was(ranks: Any) -> object:
    import copy

    import torch

    packet = torch.ops._c10d_functional.all_reduce
    operator = packet.default
    assert torch.ops._c10d_functional.all_reduce is packet
    assert isinstance(operator, torch._ops.OpOverload)
    assert {operator: 1}[packet.default] == 1
    assert copy.deepcopy(operator) is operator
    assert packet.overloads() == ["default"]
    assert torch.fx.operator_schemas.get_signature_for_torch_op(operator)
    traced = torch.fx.symbolic_trace(lambda x: operator(x, "sum", "0"))
    return [str(node.target) for node in traced.graph.nodes if node.op == "call_function"]


def test_an_operator_stays_what_it_was(tmp_path: Path) -> None:
    """Compilers look operators up by their hash, and ask for what they are."""
    said, called = together(stays_what_it_was, tmp_path)
    assert said == [["_c10d_functional.all_reduce.default"]] * WORLD
    assert called == [(), ()]


@pytest.mark.parametrize("way", ["dist.barrier", "group.barrier", "operator", "backend"])
def test_a_barrier_is_refused_under_capture_whichever_way(tmp_path: Path, way: str) -> None:
    def waits(ranks: Any) -> object:
        import torch
        import torch.distributed as dist

        backend = ranks.group._get_backend(torch.device("cpu"))
        call = {
            "dist.barrier": lambda: dist.barrier(group=ranks.group),
            "group.barrier": lambda: ranks.group.barrier().wait(),
            "operator": lambda: torch.ops.c10d.barrier(
                torch.empty(1), ranks.group.boxed(), [], True, -1
            ).wait(),
            "backend": lambda: backend.barrier().wait(),
        }[way]
        ranks.barriers.root = str(Path(__file__).parent)
        ranks.during("warm")
        call()
        in_warmup = len(ranks.barriers.places)
        ranks.during("call")
        call()
        places = [where.source for where in ranks.barriers.places]
        ranks.during("capture")
        with contextlib.suppress(Exception):
            call()
        return in_warmup, places, getattr(ranks.first, "rule", ""), len(ranks.barriers.places)

    said, called = together(waits, tmp_path)
    for in_warmup, places, rule, under_capture in said:  # type: ignore[misc]
        assert (in_warmup, rule, under_capture) == (0, "CG105", 0)
        (place,) = places
        assert "barrier" in place or way == "operator"
    assert [one.what for one in called[0]] == ["barrier"]
