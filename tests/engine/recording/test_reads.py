"""Ways to a device value on the host, and to host memory, that no operator shows."""

import io
import pickle

import numpy as np
import pytest
import torch

from cacheon.engine.worker.backends.recording import Recording, Violation

READS = {
    "dlpack": lambda x: np.from_dlpack(x).max(),
    "pickle": lambda x: pickle.dumps(x),
    "save": lambda x: torch.save(x, io.BytesIO()),
    "element of the storage": lambda x: x.untyped_storage()[0],
    "list of the storage": lambda x: x.untyped_storage().tolist(),
    "file of the storage": lambda x: x.untyped_storage()._write_file(io.BytesIO(), False, False, 4),
    "end of a range": lambda x: torch.linspace(0, x[0], 4),
    "beginning of a range": lambda x: torch.logspace(x[0], 1, 4),
    "ends of a histogram": lambda x: torch.histc(x),
}

SIZES = {
    "sparse": lambda x: x.to_sparse(),
    "compressed": lambda x: x.view(2, 2).to_sparse_csr(),
}

HOST_COPIES = {
    "host device made here": lambda x: x.to(torch.device("cpu")),
    "tensor type by name": lambda x: x.type("torch.FloatTensor"),
    "tensor type of old": lambda x: x.type(torch.FloatTensor),
    "empty_like": lambda x: torch.empty_like(x, device="cpu").copy_(x),
    "new_empty": lambda x: x.new_empty(x.shape, device="cpu").copy_(x),
    "zeros_like": lambda x: x.copy_(torch.zeros_like(x, device="cpu")),
    "full_like": lambda x: torch.full_like(x, 1, device="cpu").add_(1).to(x.device),
}

CLEAN = {
    "range of numbers": lambda x: x.mul_(torch.linspace(0, 1, 4)),
    "histogram of a range": lambda x: torch.histc(x, 4, 0, 1),
    "histogram up to a number": lambda x: torch.histc(x, max=2),
    "a dtype": lambda x: x.type(torch.float16),
    "empty_like": lambda x: torch.empty_like(x, device=x.device).copy_(x),
    "zeros_like": lambda x: torch.zeros_like(x).add_(x),
    "pickled host data": lambda x: pickle.dumps(torch.tensor([1, 2])),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_is_refused(name):
    with pytest.raises(Violation) as caught:
        Recording([]).record(READS[name], torch.ones(4))
    assert caught.value.rule == "CG101", caught.value.message


@pytest.mark.parametrize("name", SIZES)
def test_a_size_that_values_decide_is_refused(name):
    with pytest.raises(Violation) as caught:
        Recording([]).record(SIZES[name], torch.ones(4))
    assert caught.value.rule == "CG103", caught.value.message


@pytest.mark.parametrize("name", HOST_COPIES)
def test_a_copy_between_host_and_device_is_refused(name):
    with pytest.raises(Violation) as caught:
        Recording([]).record(HOST_COPIES[name], torch.ones(4))
    assert caught.value.rule == "CG102", caught.value.message


@pytest.mark.parametrize("name", CLEAN)
def test_what_stays_on_the_device_is_none(name):
    Recording([]).record(CLEAN[name], torch.ones(4))


def test_the_ways_are_free_again_afterwards():
    Recording([]).record(lambda x: x.add_(1), torch.ones(4))
    x = pickle.loads(pickle.dumps(torch.ones(2)))
    assert x.untyped_storage().tolist() == [0, 0, 128, 63] * 2
