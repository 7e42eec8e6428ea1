"""The public surface, frozen: a change here is a change for somebody's scripts."""

import re
from pathlib import Path

import click
import pytest

from cacheon.cli.main import VERBS, main
from cacheon.rules.catalogue import RULES

ROOT = Path(__file__).parents[2]

OPTIONS = {
    "verify": {
        "--device",
        "--dtype",
        "--seed",
        "--replays",
        "--soak",
        "--variant",
        "--case",
        "--all",
        "--full",
        "--context",
        "--isolation",
        "--world-size",
        "--tp-size",
        "--require-graph",
        "--timeout",
        "--compile-timeout",
        "--format",
        "--watch",
        "-v",
        "--verbose",
    },
    "scan": {"--format"},
    "slots": {"--format", "--json"},
    "init": {"--template"},
    "explain": {"--list", "--format"},
    "doctor": {"--format"},
    "arena": set(),
    "launch": {"--device", "--output"},
    "require": {"--bundle", "--arena", "--launch", "--observer", "--output"},
    "observe": {"--bundle", "--store", "--key", "--timeout", "--compile-timeout", "--format"},
    "qualify": {
        "--arena",
        "--store",
        "--key",
        "--target",
        "--timeout",
        "--compile-timeout",
        "--format",
    },
    "keys": set(),
    "ls": {"--kind", "--format"},
    "show": {"--store", "--format"},
    "fsck": {"--format"},
    "sweep": {"--older-than", "--dry-run", "--format"},
    "intake": {"--requirement", "--store", "--from", "--minimum", "--format"},
    "grade": {"--store", "--expect-bundle", "--minimum", "--format"},
    "audit": {"--store", "--log", "--log-key", "--since", "--format"},
    "log": set(),
    "export": {"--store", "--key", "--output", "--verifier", "--format"},
}
PARTS = {
    "arena": {"list": {"--format"}, "show": {"--format"}, "check": {"--format"}},
    "keys": {"new": {"--format"}, "show": {"--format"}},
    "log": {
        "append": {"--store", "--format"},
        "checkpoint": {"--origin", "--key", "--output", "--format"},
        "verify": {"--log-key", "--since", "--store", "--format"},
    },
}
ENGINE_RULES = set(
    """
CG101 CG102 CG103 CG104 CG105 CG201 CG202 CG203 CG204 CG205 CG206 CG301 CG302 CG303 CG304 CG305
CG401 CG402 CG403 CG404 CG501 CG502 CG503 CG504 CG505 CG506 CG601 CG602 CG603 CG701 CG702 CG801
CG802 CG803 CG804 CG805 CG806 CG807 CG901 CG902 CG903 CG904 CG905
""".split()
)


def command_of(verb: str) -> click.Command:
    found = main.get_command(click.Context(main), verb)
    assert found is not None
    return found


def test_the_verbs_are_these() -> None:
    assert set(VERBS) == set(OPTIONS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_options_are_these(verb: str) -> None:
    options = {
        name
        for parameter in command_of(verb).params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    }
    assert options == OPTIONS[verb]


def test_the_parts_of_verbs_are_these() -> None:
    found = {
        verb: {
            name: {option for p in part.params if isinstance(p, click.Option) for option in p.opts}
            for name, part in group.commands.items()
        }
        for verb in VERBS
        if isinstance(group := command_of(verb), click.Group)
    }
    assert found == PARTS
    for verb, parts in PARTS.items():
        for name in parts:
            reference = (ROOT / "docs/reference/cli.md").read_text()
            assert f"## cacheon {verb} {name}" in reference


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples_and_every_option_a_word(verb: str) -> None:
    command = command_of(verb)
    assert command.help
    assert command.epilog
    assert f"cacheon {verb}" in command.epilog
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented(verb: str) -> None:
    assert f"## cacheon {verb}" in (ROOT / "docs/reference/cli.md").read_text()
    evidence = (ROOT / "docs/evidence").glob("*.md")
    pages = (ROOT / "README.md", ROOT / "docs/tutorial.md", *evidence)
    prose = "".join(page.read_text() for page in pages)
    assert f"cacheon {verb}" in prose


def test_the_reference_is_what_help_says() -> None:
    import importlib.util

    source = ROOT / "docs/reference/generate.py"
    spec = importlib.util.spec_from_file_location("generate", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Releases of click wrap lines differently: the words are what counts.
    written = (ROOT / "docs/reference/cli.md").read_text().split()
    assert written == module.reference().split(), "run `make reference`"


def test_rule_ids_are_never_lost_and_well_formed() -> None:
    assert set(RULES) >= ENGINE_RULES
    for identity, rule in RULES.items():
        assert identity == rule.id
        assert re.fullmatch(r"CG[1-9]\d\d", identity)
        assert rule.title
        assert rule.why
        assert rule.remedy


def test_every_rule_that_the_code_names_exists() -> None:
    for path in (ROOT / "src" / "cacheon").rglob("*.py"):
        for identity in re.findall(r"\bCG\d{3}\b", path.read_text()):
            assert identity in RULES, f"{path}: {identity}"
