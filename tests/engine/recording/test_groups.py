"""Collectives are steps that are waited for; process groups and barriers are refused."""

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
