"""The scan, the rehearsal and what is read from CUDA's exception name a line alike."""

import ast
import linecache
import traceback
from pathlib import Path

import pytest
import torch
from tests.engine.recording import idioms
from tests.engine.recording.idioms import IDIOMS, Idiom

from cacheon.engine.grader.attribution import from_refusal
from cacheon.engine.grader.blamed import rule_of_line
from cacheon.engine.grader.session import Refused
from cacheon.engine.protocol import Raised, Where
from cacheon.engine.worker.backends.recording import Recording, Violation
from cacheon.scan.libraries import scan_sources
from cacheon.scan.sources import module_of

TREE = ast.parse(Path(idioms.__file__).read_text())
SIGNATURE = "(x: torch.Tensor, i: torch.Tensor, s: torch.Tensor, out: torch.Tensor) -> None"
UNSEEN = {
    "index by a scalar": "how many dimensions an index has",
    "set a cell to a number": "how many dimensions the output has",
    "set by an index": "whether an index is of numbers or of booleans",
    "svd": "what a routine copies to learn how it went",
}
"""What the source of these does not show."""
COPYING = "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless …"
READING = "CUDA error: operation failed due to a previous error during capture"


def source_of(name: str) -> str:
    """The idiom as a kernel of its own, which takes what the idiom takes."""
    functions = {f.name: f for f in TREE.body if isinstance(f, ast.FunctionDef)}
    for node in ast.walk(TREE):
        match node:
            case ast.Call(args=[ast.Constant(value=str(said)), _, body]) if said == name:
                lines = [body.body] if isinstance(body, ast.Lambda) else functions[body.id].body
                text = "\n".join(ast.unparse(line) for line in lines)
                helper = ast.unparse(functions["_cells"])
                head = "import torch\nimport torch.nn.functional as F\nT = torch.Tensor\n"
                indented = text.replace("\n", "\n    ")
                return f"{head}{helper}\ndef kernel{SIGNATURE}:\n    {indented}\n"
    raise LookupError(name)


def line_of(error: BaseException) -> str:
    walked = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in walked if frame.f_code.co_filename == idioms.__file__]
    return linecache.getline(str(idioms.__file__), lines[-1]).strip()


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.name)
def test_the_scan_says_what_a_capture_says(idiom: Idiom) -> None:
    found = scan_sources([module_of(source_of(idiom.name).encode(), "kernel.py", "kernel.py")])
    due = set() if idiom.name in UNSEEN or not idiom.rule else {idiom.rule}
    assert {finding.rule for finding in found} == due


@pytest.mark.parametrize("idiom", [i for i in IDIOMS if i.rule], ids=lambda idiom: idiom.name)
def test_so_does_what_is_read_from_the_exception(idiom: Idiom) -> None:
    """On CUDA a copy says so itself; of all else the line alone tells."""
    arguments = (torch.randn(4, 8), torch.zeros(4, dtype=torch.int64), torch.ones(()))
    with pytest.raises(Violation) as caught:
        Recording(arguments).record(idiom.body, *arguments, torch.empty(4, 8))
    copies = caught.value.rule == "CG102"
    reply = Raised(
        kind="RuntimeError" if copies else "AcceleratorError",
        message=COPYING if copies else READING,
        where=Where(file="k.py", line=1, function="kernel", source=line_of(caught.value)),
    )
    assert from_refusal(Refused(reply, "capture", 0), "descending").rule == idiom.rule


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("host = x.cpu().numpy()", "CG102"),
        ("peak = float(x.max().to('cpu'))", "CG102"),
        ('old = x.type("torch.FloatTensor")', "CG102"),
        ("if (gate < 0).any():", "CG103"),
        ("if (x.float() > 0).any():", "CG103"),
        ("assert ok.all(), f'{x} is wrong'", "CG103"),
        ("if int(counts[0]) > 3:", "CG101"),
        ("if 3 in indices:", "CG101"),
        ("for row in range(longest):", "CG101"),
        ("rows, choices = (ids == expert).nonzero(as_tuple=True)", "CG103"),
        ("y = torch.where(x > 0)", "CG103"),
        ("total = x[keep].sum()", "CG103"),
        ("torch.cuda.synchronize()  # if x.item()", "CG105"),
        ("dist.new_group()", "CG601"),
        ("host = torch.empty(4, pin_memory=True)", "CG503"),
        ("host = x.new_zeros(4).pin_memory()", "CG503"),
        ("side.wait_stream(main)", "CG403"),
        ("y = torch.where(x > 0, x, -x)", ""),
        ('name = "if int(x) .cpu() .item()"', ""),
        ("out.add_(x[:, : out.shape[1]])", ""),
        ("kernel(x, out)", ""),
    ],
)
def test_a_line_is_read_by_its_words(line: str, rule: str) -> None:
    assert rule_of_line(line) == rule


def test_a_line_that_shows_nothing_has_read_something() -> None:
    """The error says that the host waited for the device, in a library perhaps."""
    where = Where(file="k.py", line=1, function="f", source="library.launch(x, out)")
    reply = Raised(kind="AcceleratorError", message=READING, where=where)
    assert from_refusal(Refused(reply, "capture", 0), "descending").rule == "CG101"
    lineless = Raised(kind="AcceleratorError", message=READING)
    assert from_refusal(Refused(lineless, "capture", 0), "descending").rule == "CG505"
