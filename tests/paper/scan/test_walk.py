"""How values travel: each snippet makes a `y`, and its `.item()` is a finding where `y` is
a tensor of the device, and none where it is something else, or not known."""

import ast
from collections.abc import Callable

import pytest

from cacheon.scan import events, torch_api
from cacheon.scan.detectors import detectors
from cacheon.scan.findings import ScanFinding
from cacheon.scan.project import Project
from cacheon.scan.statements import Statements
from cacheon.scan.values import UNKNOWN

Found = Callable[..., list[ScanFinding]]
HEAD = """\
import functools, itertools, math
import torch
import torch.nn.functional as F
import triton
from torch.nn.functional import silu


class Box:
    shared = {}
    width: int = 3
    many = both = 1

    def __init__(self, value=None):
        self.value = value

    @property
    def inner(self):
        return self.value

    @staticmethod
    def same(t):
        return t

    def later(self, t):
        return self.value if self.value is not None else t


def first(*many, **named):
    return many[0]


def pair(a, b=None, *, c=None, d):
    return a, d


def generator(t):
    yield t


@triton.jit
def k(x_ptr, out_ptr):
    pass


"""
LIVE = """
y = x
y = x.T
y = x.view(-1)[0]
y = x[0]
y = x[..., 0]
y = x[x[:, 0].long()]
y = x + 1
y = 1 + x
y = -x
y = x @ x.T
y = x > 0
y = x == x
y = (x > 0) & (x < 1)
y = abs(x)
y = sum([x, x])
y = sum(p for p in (x, x))
y = max([x.sum()])
y = x.max()
y = x.max(dim=0)[0]
y = x.max(0).values
y = torch.max(x, dim=0).indices
y = torch.topk(x, 2).values
y = x.sort()[1]
y = torch.where(x > 0, x, x)
y = F.relu(x, inplace=False)
y = torch.cat([x, x])
y = torch.zeros(3, device=x.device)
y = torch.zeros(3, device="cuda:0")
y = torch.zeros(3, device="cuda:0", **dict(dtype=torch.float32))
y = torch.zeros(3, device=torch.device("cuda"))
y = torch.zeros(3, device=torch.device(x.device))
y = torch.zeros_like(x)
y = x.new_zeros(3)
y = x.to(torch.float32)
y = x.to(x.dtype)
y = x.to("cuda")
y = x.type_as(x)
y = x.requires_grad_()
y = torch.ops.aten.add(x, x)
y = torch.empty(3, device=x.device).copy_(x)
y = torch.add(x, x, out=torch.empty_like(x))
y = {"a": x}["a"]
y = {**{"a": x}}["a"]
y = dict(a=x)["a"]
y = dict(a=x).get("a")
y = [x][0]
y = [x][-1]
y = (x, 1)[0]
y = [p for p in (x, x)][0]
y = {p for p in (x, x)}.pop()
y = {n: p for n, p in {"a": x}.items()}["a"]
y = next(iter([x]))
y = list(x)[0]
y = list((x, x))[0]
y = tuple(reversed(x))[0]
y = list(zip(x, x))[0][1]
y = list(enumerate(x))[0][1]
y = list(map(torch.abs, [x]))[0]
y = list({"a": x}.values())[0]
y = ([x] * 2)[0]
y = ([x] + [x])[0]
y = [*[x, x]][0]
y = first(*(x, 1))
y = first(x, **{"a": 1})
y = first(x, a=1)
y = pair(x, d=x)[1]
y = pair(x, 1, d=2, c=3)[0]
y = (lambda t: t)(x)
y = (lambda t=1: x)()
y = functools.partial(torch.abs)(x)
y = (z := x)
y = Box(x).value
y = Box(x).inner
y = Box.same(x)
y = Box().same(x)
y = getattr(Box(x), "value")
y = getattr(x, "abs")()
y = first(x) if x.shape[0] else x
y = torch.nn.functional.silu(x)
y = silu(x)
y = x.nonzero_static(size=2)
y = x.chunk(2)[0]
y = x.data
y = x.clone(); y.data = x
y = x.clone(); y += 1
y = x.clone(); y.add_(x)
a = b = x; y = b
[a, b] = x.chunk(2); y = a
a = [None]; a[0] = x; y = a[0]
a = []; a.append(x); y = a[0]
a = []; a.extend([x]); y = a[0]
a = {}; a["k"] = x; y = a["k"]
a = {}; a.setdefault("k", x); y = a.setdefault("k", x)
a = Box(); a.value = x; y = a.value
y = None; y = x
""".strip().splitlines()
NOT = """
y = (1, x)[1:][0]
y = 3
y = x.shape
y = x.shape[0]
y = x.stride()[0]
y = x.device
y = x.size(0) + 1
y = x.__dlpack_device__()[0]
y = len(x)
y = x.cpu if False else 1
y = math.ceil(x.shape[0])
y = SOMETHING
y = SOMETHING(x)
y = SOMETHING.of(x)
y = SOMETHING[x]
y = SOMETHING[0](x)
y = SOMETHING + x.shape[0]
y = SOMETHING == 3
y = [1, 2][0]
y = [[[[[[x]]]]]][0][0][0][0][0][0]
y = (1, x)[SOMETHING]
y = [x][5:][0] if False else "text"
y = {"a": 1}["a"]
y = torch.zeros(3)
y = torch.zeros(3, device="cpu")
y = torch.zeros(3, device=torch.device("cpu"))
y = torch.zeros(3, device=None)
y = torch.zeros(3, **dict(device=x.device))
y = torch.zeros_like(SOMETHING)
y = torch.zeros(3).to(SOMETHING(1))
y = torch.zeros(3).to(SOMETHING)
y = torch.zeros(3).to(x.shape[0])
y = torch.zeros(3).to(torch.float32)
y = torch.zeros(3) + torch.zeros(3)
y = torch.zeros(3) > 0
y = torch.zeros(3).new_tensor([1.0])
y = torch.get_default_dtype()
y = torch.nn.Linear(3, 3)
y = torch.cuda.get_device_properties(0)
y = torch.cuda.current_stream().cuda_stream
y = torch.cuda.Stream().priority
y = Box
y = Box().missing
y = Box.width
y = Box.many
y = pair
y = pair.attribute
y = k
y = k.fn
y = k.cache(x)
y = k.run(x, x)
y = lambda: 1
y = (lambda: 1)()
y = x if SOMETHING else 1
y = SOMETHING or 1
y = isinstance(x, torch.Tensor)
y = callable(x)
y = id(x)
y = getattr(x, SOMETHING)
y = hasattr(x, "a")
y = x is None
y = not x.shape
y = 1 < x.shape[0] < 8
y = x.shape[0] in (1, 2)
y = [*SOMETHING][0]
y = [1].index(1)
y = generator(x)
y = [i async for i in SOMETHING] if False else 1
y = f"{x.shape}"
y = f"{x.shape!r:>{3}}"
y = slice(1, 2)
y = x.__class__
y = round(3.5)
y = print("a")
y = functools.reduce(max, [1])
y = torch.cond
y = torch.device("cuda")
y = bool(x.shape[0])
y = (yield x)
y = (yield)
""".strip().splitlines()
BLOCKS = [
    ("(a, *b) = (1, x, x)\n    y = b[0]", False),
    ("y = 1\n    for part in x.split(2):\n        y = part\n    else:\n        z = y", False),
    ("y = x\n    for part in x.split(2):\n        y = y + part", True),
    (
        "y = x + 1\n    n = 8\n    while n:\n        y *= 2\n        n -= 1\n"
        "    else:\n        n = 0",
        True,
    ),
    ("z = 1\n    del z\n    y = x", True),
    ("y = x\n    if x.shape[0]:\n        y = x + 1\n    else:\n        return", True),
    (
        "y = x\n    if x.dim():\n        if x.shape[0]:\n            y = x + 1\n"
        "        else:\n            return",
        True,
    ),
    ("from math import *\n    y = x", True),
    ("y = x\n    if isinstance(y, torch.Tensor):\n        return\n    y.sum()", False),
    ("y = x\n    if not torch.is_tensor(y):\n        y.sum()\n        return", True),
    ("y = x\n    if torch.is_tensor(y):\n        return\n    y.sum()", False),
    ("y = x\n    if isinstance(y, (int, float)):\n        return", True),
    ("y = x\n    if isinstance(y[0], torch.Tensor):\n        return", True),
    (
        "a = b = c = x.shape[0]\n    for part in x:\n        c = b\n        b = a\n"
        "        a = part\n    y = part",
        True,
    ),
    (
        "a = b = c = n = x.shape[0]\n    while n:\n        c = b\n        b = a\n"
        "        a = x\n        n -= 1\n    y = x",
        True,
    ),
    (
        "y = x\n    while True:\n        def inner():\n            return 1\n"
        "        if x.shape[0]:\n            break",
        True,
    ),
    ("y = x\n    while True:\n        if x.shape[0]:\n            break", True),
    ("y = x\n    with torch.no_grad(), open('a') as file:\n        y = y + 1", True),
    (
        "try:\n        y = x\n    except ValueError:\n        raise\n    finally:\n        z = 1",
        True,
    ),
    ("try:\n        y = x\n    except (KeyError, TypeError):\n        y = x + 1", True),
    ("y = x\n    try:\n        return\n    except KeyError:\n        pass", True),
    (
        "y = x\n    try:\n        return\n    except KeyError:\n        return\n    y.tolist()",
        False,
    ),
    (
        "match x.shape[0]:\n        case 1:\n            y = x\n        case n if n:\n"
        "            y = x + n\n        case _:\n            y = x",
        True,
    ),
    ("if x.shape[0]:\n        y = x\n    else:\n        raise ValueError(x.shape)", True),
    ("if x.shape[0]:\n        raise ValueError from None\n    y = x", True),
    ("if x.shape[0]:\n        return\n    else:\n        y = x", True),
    ("if x.shape[0]:\n        return\n    else:\n        return\n    y = x", False),
    ("if x.shape[0]:\n        y = x\n    z = 1", True),
    ("def inner(t):\n        return t + x\n    y = inner(x)", True),
    (
        "def inner(t, k=[]):\n        nonlocal_ = t\n        return nonlocal_\n    y = inner(x)",
        True,
    ),
    ("class Inner:\n        pass\n    y = Inner()", False),
    ("import torch.linalg as L\n    y = L.norm(x)", True),
    ("from torch import linalg as L\n    y = L.norm(x)", True),
    ("a = {'k': x}\n    del a['k']\n    y = x", True),
    ("a = [1, x]\n    a[0] += 1\n    y = x", True),
    ("a = Box(1)\n    a.value += 1\n    y = x", True),
    ("a = [x]\n    a += [x]\n    y = a[0]", True),
    ("y = [p for q in (x, x) for p in q if x.shape[0]][0]", True),
    ("y = x\n    assert x.shape[0], 'text'\n    pass", True),
    ("y: torch.Tensor = x\n    z: int", True),
    (
        "async def later():\n        await x\n        async with x:\n            pass\n"
        "        async for z in x:\n            pass\n    later()\n    y = x",
        True,
    ),
    ("x.sum(); later = lambda t: t\n    y = later(x)", True),
    ("(x.shape[0], y) = (1, x)", True),
    ("SOMETHING.attribute = x\n    SOMETHING[0] = x\n    y = x", True),
    ("[x][0] = x\n    [x].append(x)\n    (x, x).count(x)\n    [x].copy().clear()\n    y = x", True),
    ("a = torch.empty_like(x)\n    a[:] = x\n    a[...] = x\n    a[0, 1:2] = 3\n    y = a", True),
    ("sys = __import__('sys')\n    y = x", True),
]


def lines_found(found: Found, body: str) -> bool:
    source = (
        f"{HEAD}def silu_and_mul(x, out):\n    out.copy_(x[:, : out.shape[1]])\n"
        f"    {body}\n    y.item()\n"
    )
    last = source.count("\n")
    findings = found(source)
    assert {f.rule for f in findings} <= {"CG101"}
    return any(f.line == last for f in findings)


@pytest.mark.parametrize("body", [line.replace("; ", "\n    ") for line in LIVE])
def test_a_tensor_of_the_device_is_followed(body: str, found: Found) -> None:
    assert lines_found(found, body)


@pytest.mark.parametrize("body", NOT)
def test_what_is_something_else_is_let_be(body: str, found: Found) -> None:
    assert not lines_found(found, body)


@pytest.mark.parametrize(("body", "live"), BLOCKS, ids=range(len(BLOCKS)))
def test_statements_carry_values_on(body: str, live: bool, found: Found) -> None:
    assert lines_found(found, body) == live


@pytest.mark.parametrize(
    "entry",
    [
        "silu_and_mul = torch.nn.Identity()",
        "silu_and_mul = k",
        "silu_and_mul = SOMETHING",
        "class silu_and_mul:\n    pass",
        "from math import sqrt as silu_and_mul",
    ],
)
def test_an_entry_that_is_no_function_of_the_source_is_let_be(entry: str, found: Found) -> None:
    assert found(HEAD + entry + "\n") == []


@pytest.mark.parametrize(
    "entry",
    [
        "silu_and_mul = torch.compile(body)",
        "silu_and_mul = functools.partial(body)",
        "silu_and_mul = torch.no_grad()(body)",
        "from kernels.k2 import body as silu_and_mul",
        "silu_and_mul = lambda x, out: body(x, out)",
        "silu_and_mul = other = body",
        "if torch.cuda.is_available():\n    silu_and_mul = body",
        "silu_and_mul: object = body",
    ],
)
def test_an_entry_may_be_another_function(entry: str, found: Found) -> None:
    body = "def body(x, out):\n    out.copy_(x[:, : out.shape[1]])\n    x.tolist()\n"
    files = {"kernels/k2.py": body} if "k2" in entry else {}
    assert [f.rule for f in found(HEAD + body + entry + "\n", files=files)] == ["CG101"]


@pytest.mark.parametrize("name", sorted(torch_api.QUESTIONS - {"data_ptr", "__len__"}))
@pytest.mark.parametrize("form", ["x.NAME()", "torch.NAME(x)", "torch.ops.aten.NAME(x)"])
def test_a_branch_on_metadata_is_none_on_contents(name: str, form: str, found: Found) -> None:
    source = f"{HEAD}def silu_and_mul(x, out):\n    out.copy_(x[:, : out.shape[1]])\n"
    ask = f"    if {form.replace('NAME', name)}:\n        raise ValueError\n"
    assert found(source + ask) == []


@pytest.mark.parametrize("name", ["is_nonzero", "any", "isnan", "_is_all_true"])
def test_a_branch_on_contents_is_one(name: str, found: Found) -> None:
    source = f"{HEAD}def silu_and_mul(x, out):\n    out.copy_(x[:, : out.shape[1]])\n"
    assert {f.rule for f in found(f"{source}    if x.{name}():\n        return\n")} & {
        "CG101",
        "CG103",
    }


def test_a_target_that_python_does_not_have_is_let_be() -> None:
    walk = Statements(Project([]), lambda event: None)
    walk.assign(ast.Constant(1), UNKNOWN)
    assert walk.frame.env == {}


def test_a_detector_says_nothing_of_what_it_does_not_look_at() -> None:
    where = events.Context(events.Root("k.py", "f", 1, "replay"), "k.py", "f", "replay")
    node, nothing = ast.Pass(), frozenset[tuple[str, ...]]()
    told: list[events.Event] = [
        events.Called(node, where, "f", (), {}),
        events.Tested(node, where, UNKNOWN),
        events.Shown(node, where, UNKNOWN),
        events.Indexed(node, where, UNKNOWN, (), ()),
        events.Wrote(node, where, UNKNOWN, "copy_"),
        events.Kept(node, where, "k.py:X", "name", UNKNOWN),
        events.Launched(node, where, "k", {}),
        events.Branched(node, where, "capture", nothing, nothing),
        events.Streamed(node, where, "wait", ""),
        events.Ended(node, where, (), True, frozenset(), frozenset(), nothing),
    ]
    finders = {find for found in detectors().values() for find in found}
    assert len(finders) == 22
    for find in finders:
        for event in told:
            assert list(find(event)) == []
