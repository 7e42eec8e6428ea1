"""Collectives are steps that are waited for; process groups and barriers are refused."""

from contextlib import contextmanager

import pytest
import torch
import torch.distributed as dist

from cacheon.engine.worker.backends.recording import Recording, Violation


@pytest.fixture(scope="module", autouse=True)
def one_rank(tmp_path_factory):
    rendezvous = tmp_path_factory.mktemp("group") / "store"
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_a_collective_is_replayed():
    x, out = torch.ones(4), torch.empty(4)

    def entry(x, out):
        out.copy_(x)
        dist.all_reduce(out)

    recording = Recording([x, out])
    recording.record(entry, x, out)
    assert recording.steps == 2
    x.fill_(5)
    recording.replay()
    assert torch.equal(out, x)


@pytest.mark.parametrize(
    ("rule", "entry"),
    [
        ("CG105", lambda: dist.barrier()),
        ("CG601", lambda: dist.new_group([0])),
        ("CG601", lambda: dist.destroy_process_group()),
    ],
)
def test_the_group_stays_as_it_is(rule, entry):
    with pytest.raises(Violation) as caught:
        Recording([]).record(entry)
    assert caught.value.rule == rule
    assert dist.is_initialized()


def noting(noted):
    @contextmanager
    def note(what):
        noted.append(what)
        yield

    return note


def replayed(entry, x, out, notes=None):
    """Record on x, poison out, replay on new values; what a replay was seen to call."""
    noted = []
    recording = Recording([x, out], note=noting(noted))
    out.fill_(-1)
    recording.record(entry, x, out)
    recorded, noted[:] = out.clone(), []
    x.add_(3)
    recording.replay()
    return recorded, noted


def gathered(x, out):
    parts = [torch.empty_like(x)]
    dist.all_gather(parts, x)
    out.copy_(parts[0])


def broadcast(x, out):
    out.copy_(x)
    dist.broadcast(out, 0)


def started_and_waited_for(x, out):
    out.copy_(x)
    work = dist.all_reduce(out, async_op=True)
    out2 = x + 0
    work.wait()
    out.copy_(out * 0.5 + out2 * 0.5)


def functional(x, out):
    from torch.distributed import _functional_collectives as f

    out.copy_(f.all_reduce(x, "sum", dist.group.WORLD) + 0)


def operator(x, out):
    name = dist.group.WORLD.group_name
    summed = torch.ops._c10d_functional.all_reduce(x, "sum", name)
    whole = torch.ops._c10d_functional.all_gather_into_tensor(summed, 1, name)
    out.copy_(torch.ops._c10d_functional.wait_tensor(whole))


@pytest.mark.parametrize(
    ("entry", "calls"),
    [
        (gathered, ["all_gather float32 4"]),
        (broadcast, ["broadcast float32 4 from 0"]),
        (started_and_waited_for, ["all_reduce float32 4"]),
        (functional, ["all_reduce float32 4"]),
        (operator, ["all_reduce float32 4", "all_gather_into_tensor float32 4"]),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_every_way_to_a_collective_is_replayed_and_noted(entry, calls):
    x, out = torch.arange(4.0), torch.empty(4)
    _, noted = replayed(entry, x, out)
    assert torch.equal(out, x)
    assert noted == calls


def test_none_is_carried_out_while_recording():
    """Ranks whose records differ must be told so, and not wait for each other."""
    x, out = torch.arange(4.0), torch.empty(4)
    recorded, _ = replayed(lambda x, out: dist.all_gather([out], x), x, out)
    assert torch.equal(recorded, torch.full((4,), -1.0))
    assert torch.equal(out, x)


def test_a_host_constant_in_a_collective_is_host_data():
    x = torch.ones(4)

    def entry(x):
        dist.all_reduce(torch.tensor([1.0, 2.0, 3.0, 4.0]))

    with pytest.raises(Violation) as caught:
        Recording([x]).record(entry, x)
    assert caught.value.rule == "CG102"


# --- what is started has to be waited for --------------------------------------------------------


def summed(x, **keywords):
    return dist.all_reduce(x, async_op=True, **keywords)


def never(x, out):
    out.copy_(x)
    summed(out)


def read_early(x, out):
    part = x.clone()
    work = summed(part)
    out.copy_(part)
    work.wait()


def overwritten(x, out):
    part, parts = x.clone(), [torch.empty_like(x)]
    work = dist.all_gather(parts, part, async_op=True)
    part.zero_()
    work.wait()
    out.copy_(parts[0])


def functional_read_early(x, out):
    out.copy_(torch.ops._c10d_functional.all_reduce(x, "sum", dist.group.WORLD.group_name))


def functional_never(x, out):
    out.copy_(x)
    torch.ops._c10d_functional.all_reduce_(out, "sum", dist.group.WORLD.group_name)


def asks(x, out):
    out.copy_(x)
    work = summed(out)
    while not work.is_completed():
        pass
    work.wait()


@pytest.mark.parametrize(
    ("entry", "rule", "words"),
    [
        (never, "CG401", "`all_reduce float32 4` is started, and nobody waits for it"),
        (read_early, "CG401", "`copy_` uses what `all_reduce float32 4` writes"),
        (overwritten, "CG401", "`zero_` writes to what `all_gather float32 4` reads"),
        (functional_read_early, "CG401", "`copy_` uses what `all_reduce float32 4` writes"),
        (functional_never, "CG401", "`all_reduce float32 4` is started, and nobody waits"),
        (asks, "CG105", "`is_completed` asks the device"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_the_end_of_a_collective_is_waited_for(entry, rule, words):
    x, out = torch.arange(4.0), torch.empty(4)
    with pytest.raises(Violation) as caught:
        Recording([x, out]).record(entry, x, out)
    assert caught.value.rule == rule
    assert words in str(caught.value)


def waited_for_later(x, out):
    part = x.clone()
    work = summed(part)
    part.view(2, 2)
    torch.empty_like(part)
    x + 1
    work.wait()
    out.copy_(part)


def by_its_future(x, out):
    out.copy_(x)
    summed(out).get_future().wait()


def one_for_all(x, out):
    """What a group was given first ends first: the last is waited for."""
    out.copy_(x)
    summed(out[:2])
    summed(out[2:]).wait()


def in_pieces(x, out):
    works = []
    for piece, source in zip(out.split(2), x.split(2), strict=True):
        piece.copy_(source)
        works.append(summed(piece))
    for work in works:
        work.wait()


@pytest.mark.parametrize("entry", [waited_for_later, by_its_future, one_for_all, in_pieces])
def test_whoever_waits_in_time_passes(entry):
    x, out = torch.arange(4.0), torch.empty(4)
    replayed(entry, x, out)
    assert torch.equal(out, x)
