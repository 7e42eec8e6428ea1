"""The pages of the docs are what the catalogue says, and every item is covered or answered."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from cacheon.report.rules import rule_lines, rule_list_lines
from cacheon.rules.catalogue import RULES
from cacheon.rules.checklist import ITEMS, Item

DOCS = Path(__file__).parents[3] / "docs" / "rules"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_rules", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_current(generator: ModuleType) -> None:
    pages = dict(generator.pages())
    for name, text in pages.items():
        assert (DOCS / name).read_text() == text, f"{name}: run `make reference`"
    left = {path.name for path in DOCS.glob("*.md")} - pages.keys()
    assert left == {"corpus.md"}


@pytest.mark.parametrize("id", RULES)
def test_explain_and_the_page_say_the_same(id: str) -> None:
    shown = "".join(text for line in rule_lines(RULES[id]) for _, text in [*line, ("", "\n")])
    page = (DOCS / f"{id}.md").read_text()
    for source in (RULES[id].bad, RULES[id].good):
        assert source.rstrip() in page
        assert "\n".join(f"    {x}" if x else "" for x in source.splitlines()) in shown
    for text in (RULES[id].why, RULES[id].remedy):
        assert text.split() == page[page.index(text[:20]) :].split()[: len(text.split())]
        assert text.split() == shown[shown.index(text[:20]) :].split()[: len(text.split())]


def test_the_list_names_every_rule() -> None:
    shown = "".join(text for line in rule_list_lines(list(RULES.values())) for _, text in line)
    assert all(f"{id}  {rule.title}" in shown for id, rule in RULES.items())


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.text)
def test_every_item_has_a_rule_or_says_why_not(item: Item) -> None:
    assert item.rules or item.note
    assert set(item.rules) <= RULES.keys()
    assert len(set(item.rules)) == len(item.rules)
    if item.note:
        assert item.note.endswith(".")


def test_the_specifications_list_is_whole() -> None:
    """Nine failures stand there; all are covered by something that is seen before serving."""
    listed = [item for item in ITEMS if item.source == "specification"]
    assert len(listed) == 9
    for item in listed:
        assert any("scan" in RULES[id].detected for id in item.rules)


@pytest.mark.parametrize("id", RULES)
def test_every_place_that_a_rule_claims_has_a_test(id: str, generator: ModuleType) -> None:
    """Of the scan a form; of a run a bundle that fails by it, or a test that names it."""
    rule = RULES[id]
    assert (generator.FORMS / f"{id}.txt").exists() == ("scan" in rule.detected)
    for where in generator.RUNS:
        seen = bool(generator.bundles_of(rule, where))
        if where not in rule.detected:
            assert not seen, f"{id} is seen by {where} and does not claim it"
        else:
            assert seen or generator.naming(rule), f"{id} claims {where} without a test"


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.text)
def test_an_item_claims_no_more_than_its_rules(item: Item) -> None:
    for where in item.where:
        assert any(where in RULES[id].detected for id in item.rules), where


def test_every_row_of_the_table_with_a_rule_has_a_test(generator: ModuleType) -> None:
    for item in ITEMS:
        *_, tests = generator._cells(item)
        assert bool(tests) == bool(item.rules), item.text
