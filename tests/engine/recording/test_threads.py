"""What another thread does while a call is recorded."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import torch

from cacheon.engine.worker.backends.recording import Recording, Violation, answering_cuda


@pytest.fixture
def pool():
    with answering_cuda(lambda: True), ThreadPoolExecutor(1) as threads:
        threads.submit(int).result()  # as warm-up would: it runs before the recording
        yield threads


@pytest.mark.parametrize(
    ("rule", "work"),
    [
        ("CG101", lambda x: x.item()),
        ("CG101", lambda x: x.numpy()),
        ("CG401", lambda x: x.add_(1)),
    ],
)
def test_a_thread_that_touches_device_memory_is_refused(pool, rule, work):
    x = torch.ones(())
    with pytest.raises(Violation) as caught:
        Recording([x]).record(lambda: pool.submit(work, x).result())
    assert caught.value.rule == rule
    assert pool.submit(work, x).result() is not None, "outside a recording it is free"


def test_a_thread_that_nobody_asks_is_refused_too(pool):
    x = torch.ones(())

    def read():
        with suppress(Violation):
            x.item()

    def entry():
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()

    with pytest.raises(Violation, match="item"):
        Recording([x]).record(entry)


def test_a_thread_without_device_memory_is_none_of_our_business(pool):
    x = torch.ones(())
    recording = Recording([x])
    recording.record(lambda: pool.submit(lambda: (x.shape, torch.tensor([1]).tolist())).result())
    assert recording.steps == 0


def test_a_query_in_another_thread_breaks_the_recording(pool):
    """As it would a capture whose error mode is global, wherever the exception ends."""
    event, x = torch.cuda.Event(), torch.ones(())

    def entry():
        with suppress(Violation):
            pool.submit(event.query).result()
        x.add_(1)

    with pytest.raises(Violation) as caught:
        Recording([x]).record(entry)
    assert caught.value.rule == "CG105"
