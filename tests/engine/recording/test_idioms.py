"""Each idiom under the rehearsal: its rule, or the right answer on values it never saw."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from cacheon.engine.worker.backends.recording import Recording, Violation


def _neighbour(name: str) -> ModuleType:
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"recording_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


IDIOMS = _neighbour("idioms").IDIOMS


def _arguments(seed: int) -> tuple[torch.Tensor, ...]:
    draw = torch.Generator().manual_seed(seed)
    return (
        torch.randn(4, 8, generator=draw),
        torch.randint(0, 4, (4,), generator=draw),
        torch.rand((), generator=draw) + 1,
        torch.full((4, 8), float("nan")),
    )


@pytest.mark.parametrize("idiom", [i for i in IDIOMS if i.rule], ids=lambda i: i.name)
def test_a_bad_idiom_is_refused_at_its_line(idiom):
    with torch.no_grad():
        idiom.body(*_arguments(1))
        with pytest.raises(Violation) as caught:
            Recording(_arguments(2)).record(idiom.body, *_arguments(2))
    assert caught.value.rule == idiom.rule, caught.value.message
    frames = [entry.path.name for entry in caught.traceback]
    assert "idioms.py" in frames


@pytest.mark.parametrize("idiom", [i for i in IDIOMS if not i.rule], ids=lambda i: i.name)
def test_a_clean_idiom_follows_its_inputs(idiom):
    arguments = _arguments(2)
    recording = Recording(arguments)
    with torch.no_grad():
        idiom.body(*_arguments(1))
        recording.record(idiom.body, *arguments)
        for seed in (3, 4):
            fresh = _arguments(seed)
            for mine, new in zip(arguments, fresh, strict=True):
                mine.copy_(new)
            recording.replay()
            idiom.body(*fresh)
            torch.testing.assert_close(arguments[3], fresh[3], rtol=0, atol=0)
            for mine, new in zip(arguments[:3], _arguments(seed)[:3], strict=True):
                assert torch.equal(mine, new), "an input was changed"
