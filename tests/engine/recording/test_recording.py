"""What a recording holds, what it lets go of, and what `torch.cuda` answers meanwhile."""

import gc
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from cacheon.engine.worker.backends.recording import (
    NeedsCuda,
    Recording,
    Violation,
    answering_cuda,
    tape,
)
from cacheon.engine.worker.blame import blame, is_ours


@pytest.fixture
def capturing():
    with answering_cuda(lambda: True):
        yield


def _silu(x, out):
    half = x.shape[-1] // 2
    out.copy_(F.silu(x[..., :half].float()) * x[..., half:])


def test_conjugates_and_negatives_that_torch_puts_off_are_recorded():
    def entry(x, out):
        pairs = torch.view_as_complex(x.view(4, 4, 2))
        out[:, :4] = (pairs * pairs.conj()).real
        out[:, 4:] = pairs.conj().imag

    x, out = torch.randn(4, 8), torch.empty(4, 8)
    recording = Recording([x, out])
    recording.record(entry, x, out)
    x.normal_()
    recording.replay()
    wanted = torch.empty(4, 8)
    entry(x, wanted)
    assert torch.equal(out, wanted)


def test_a_freed_workspace_is_a_stale_pointer():
    kept = [torch.empty(4, 8)]
    x, out = torch.randn(4, 8), torch.empty(4, 8)

    def entry(x, out):
        kept[0].copy_(x)
        out.copy_(kept[0])

    recording = Recording([x, out])
    recording.record(entry, x, out)
    recording.replay()
    kept.clear()
    gc.collect()
    with pytest.raises(Violation, match="is gone") as caught:
        recording.replay()
    assert caught.value.rule == "CG302"


def test_a_resized_workspace_is_a_stale_pointer():
    kept = torch.empty(4, 8)
    x = torch.randn(4, 8)
    recording = Recording([x])
    recording.record(lambda x: kept.copy_(x), x)
    kept.resize_(400, 800)
    with pytest.raises(Violation, match="is gone"):
        recording.replay()


def test_memory_of_the_capture_lives_as_long_as_the_recording():
    cache = {}
    x, out = torch.randn(4, 8), torch.empty(4, 8)

    def entry(x, out):
        cache["twice"] = x * 2
        out.copy_(cache["twice"])

    recording = Recording([x, out])
    recording.record(entry, x, out)
    cache.clear()
    gc.collect()
    x.normal_()
    recording.replay()
    assert torch.equal(out, x * 2)


def test_memory_without_a_value_keeps_what_earlier_replays_left_there():
    x, out = torch.ones(4), torch.zeros(4)

    def entry(x, out):
        work = torch.empty_like(x)
        work[:2].copy_(x[:2])
        out[:2].copy_(work[:2])

    recording = Recording([x, out])
    recording.record(entry, x, out)
    x.mul_(3)
    recording.replay()
    assert out.tolist() == [3, 3, 0, 0]


def test_inference_mode_inside_an_entry():
    x, out = torch.randn(4, 8), torch.empty(4, 8)

    def entry(x, out):
        with torch.inference_mode():
            out.copy_(x.reshape(-1).add(1).mul_(2).view(4, 8))

    recording = Recording([x, out])
    recording.record(entry, x, out)
    x.normal_()
    recording.replay()
    assert torch.equal(out, (x + 1) * 2)


def test_a_violation_that_the_candidate_swallows_counts(capturing):
    def entry(x):
        try:
            torch.cuda.synchronize()
        except Exception:
            x.add_(1)

    with pytest.raises(Violation) as caught:
        Recording([]).record(entry, torch.zeros(1))
    assert caught.value.rule == "CG105"


def test_the_candidates_own_exception_comes_through():
    with pytest.raises(ZeroDivisionError):
        Recording([]).record(lambda: 1 // 0)


def test_what_is_returned_comes_back():
    assert Recording([]).record(lambda: "something") == "something"


def test_streams_and_events_are_inert(capturing):
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    event.record(torch.cuda.current_stream())
    stream.wait_event(event)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() is stream
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.cuda.is_current_stream_capturing()
    for wait in (stream.synchronize, event.synchronize, event.query, torch.cuda.synchronize):
        with pytest.raises(Violation) as caught:
            wait()
        assert caught.value.rule == "CG105"


@pytest.mark.parametrize(
    "wish",
    [
        lambda: torch.zeros(1).cuda(),
        lambda: torch.empty(1, device="cuda"),
        lambda: torch.zeros(1).to("cuda"),
        lambda: torch.cuda.CUDAGraph(),
        lambda: torch.cuda.get_device_properties(0),
    ],
)
def test_what_needs_the_device_says_so(capturing, wish):
    with pytest.raises(NeedsCuda):
        wish()


def test_a_step_costs_little():
    x, out = torch.randn(4, 128), torch.empty(4, 64)
    recording = Recording([x, out])
    recording.record(_silu, x, out)

    def measured() -> float:
        start = time.perf_counter()
        for _ in range(200):
            recording.replay()
        return (time.perf_counter() - start) / 200 / recording.steps

    assert min(measured() for _ in range(5)) < 200e-6


def test_a_violation_hides_behind_no_later_exception(capturing):
    def entry(x):
        with suppress(Exception):
            x.max().item()
        torch.cuda.get_device_properties(0)

    with pytest.raises(Violation) as caught:
        Recording([]).record(entry, torch.zeros(1))
    assert caught.value.rule == "CG101"
    assert caught.value.__context__ is None


def test_a_violation_hides_behind_no_earlier_lack_of_a_device(capturing):
    def entry(x):
        try:
            torch.cuda.get_device_properties(0)
        except NeedsCuda:
            x.max().item()

    with pytest.raises(Violation) as caught:
        Recording([]).record(entry, torch.zeros(1))
    culprit, where = blame(caught.value, str(Path(__file__).parent))
    assert culprit is caught.value
    assert where is not None
    assert "item" in where.source


def test_what_the_recorder_itself_raises_is_told_from_a_forgery():
    with pytest.raises(TypeError) as true:
        Recording([])._tape.lay(torch.ones(1))
    assert is_ours(true.value)
    forged = {"__name__": tape.__name__}
    source = "def lay():\n    raise TypeError('so sorry')\n"
    exec(compile(source, tape.__file__, "exec"), forged)
    with pytest.raises(TypeError) as false:
        forged["lay"]()
    assert not is_ours(false.value)
    code = compile(source.replace("lay", "forged"), tape.__file__, "exec")
    exec(code, vars(tape))
    with pytest.raises(TypeError) as false:
        tape.forged()
    del tape.forged
    assert not is_ours(false.value)
