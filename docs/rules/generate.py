"""Writes a page for each rule, and the tables, from the catalogue: `make reference`. A test
compares them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from cacheon.report.rules import rule_page
from cacheon.rules.catalogue import RULES
from cacheon.rules.checklist import ITEMS, Item
from cacheon.rules.model import Rule

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FORMS = ROOT / "tests" / "paper" / "scan" / "forms"
ENGINE, WORKFLOWS = ROOT / "tests" / "engine", ROOT / "tests" / "workflows"
TESTED = [ROOT / "tests" / "bundles" / name for name in ("attacks", "faults")]
RUNS = ("rehearsal", "cuda")
EXAMPLES = ROOT / "src" / "cacheon" / "examples"
_HEAD = """# Rules

Written by `make reference` from the catalogue. `cacheon explain CG203` prints a page,
`cacheon explain --list` the list; every finding of `verify` and of `scan` ends with its id.

An id is never reused or renumbered. *Severity* says how bad a fault is where it is true,
*confidence* how often a finding of the scan is; a run is sure of what it saw.

## The scan

```
cacheon scan my_bundle                       # or a file of it: the bundle around it is read
cacheon scan kernels/ --format sarif         # any Python: text, json or sarif
flake8 --select CG kernels/                  # the same, as a plugin of flake8
```

It reads and never imports. In a bundle the manifest names the entries, which run at every
replay, and `prepare`, which runs once; the slot says which arguments are tensors, which of
them change, and which are written. Values are followed through assignments, calls within the
bundle, objects and module state. What runs in the first call only (a branch on state that is
not there yet, a function under a cache), or only while no capture is on, is judged as such.
What is not known for certain is let be. `verify` reads a bundle so before it loads it: what
is found is advice, but CG9xx of severity error fails the bundle.

In any other Python nobody says what is captured. There, public functions are judged whose
annotations say that they take tensors, and those that launch a Triton kernel, with all that
they call; not those whose name, or whose file's name, says that they run beside that path (`plan`,
`reference`, `test_…`); and not by the rules about outputs, inputs and hygiene, which belong
to a contract. What it says of well-known kernels stands in [corpus.md](corpus.md).

A finding that is wanted is answered for in the source, on its line or alone on the line
above:

```python
torch.cuda.synchronize()  # cacheon: ignore[CG105] called by the benchmark only
```

The reason is mandatory, and the finding stays in the report beside it. CG9xx cannot be left.

As a hook of pre-commit it is `cacheon-scan`, of this repository.

## All of them
"""
_TABLE = """
## What must be covered

Every item of the specification's list of capture failures and of NVIDIA's public checklist
for PyTorch, the rules that cover it, and where those are found. *Tests*: the sources that
the scan must find and must not, and the bundles that a run must fail.
"""


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page."""
    for rule in RULES.values():
        yield f"{rule.id}.md", rule_page(rule)
    yield "index.md", _index()


def _index() -> str:
    lines = [_HEAD, "| rule | | severity | confidence | scan | rehearsal | CUDA | tests |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for rule in RULES.values():
        scan = "yes" if "scan" in rule.detected else f"no: {rule.unscanned}"
        runs = ["yes" if where in rule.detected else "no" for where in ("rehearsal", "cuda")]
        cells = [_link(rule), rule.title, rule.severity, rule.confidence, scan, *runs]
        cells.append(" ".join(_tests(rule)))
        lines.append(_row(cells))
    lines += [
        _TABLE,
        "| source | item | rules | where | tests |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [_row(_cells(item)) for item in ITEMS]
    return "\n".join(lines) + "\n"


def _cells(item: Item) -> list[str]:
    rules = [RULES[id] for id in item.rules]
    said = ", ".join(item.where) or "nowhere"
    return [
        item.source,
        item.text,
        " ".join(map(_link, rules)),
        f"{said}. {item.note}" if item.note else said,
        " ".join(dict.fromkeys(test for rule in rules for test in _tests(rule))),
    ]


def _tests(rule: Rule) -> Iterator[str]:
    """Sources that the scan is held to, bundles that a run must fail by this rule; and
    where there is none, the tests of the engine that name it."""
    form = FORMS / f"{rule.id}.txt"
    if form.exists():
        yield f"[forms/{form.name}](../../{form.relative_to(ROOT)})"
    bundles = {name for where in RUNS for name in bundles_of(rule, where)}
    yield from (f"`{name}`" for name in sorted(bundles))
    if not bundles:
        yield from (f"[{p.name}](../../{p.relative_to(ROOT)})" for p in naming(rule))


def bundles_of(rule: Rule, where: str) -> list[str]:
    """Shipped examples, and bundles of the tests, that a run there fails by this rule; of
    several that it may be, the first is meant."""
    key = "cpu" if where == "rehearsal" else "cuda"
    shipped = json.loads((EXAMPLES / "expect.json").read_text()).items()
    rows = [(name, row[key]) for name, row in shipped]
    for directory in TESTED:
        rows += json.loads((directory / "expect.json").read_text()).items()
    return [name for name, row in rows if rule.id == row.get("rule", "").partition("|")[0]]


def naming(rule: Rule) -> list[Path]:
    """Test modules of the engine, and of what runs it, that name a rule."""
    found = [*ENGINE.rglob("test_*.py"), *WORKFLOWS.glob("test_*.py")]
    return sorted(path for path in found if rule.id in path.read_text())


def _link(rule: Rule) -> str:
    return f"[{rule.id}]({rule.id}.md)"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> None:
    for name, text in pages():
        (HERE / name).write_text(text)
    sys.stdout.write(f"wrote {HERE}\n")


if __name__ == "__main__":
    main()
