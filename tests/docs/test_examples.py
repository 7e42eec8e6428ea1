"""The documentation's own examples, run: `console` blocks by the shell's rules of
docs/tutorial.md, `python` and `toml` blocks parsed, links followed.

A comment before a block says more: `file: NAME`, write its body there; `exit: N`, the code it
ends with; `copy: PATH`, first copy what lies in that directory of the repository."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(
    r"(?:<!-- (?P<mark>file|exit|copy): (?P<value>\S+) -->\n)?"
    r"^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def blocks(page: Path) -> Iterator[tuple[str, str, str, str]]:
    """(language, body, mark, value) of every fenced block."""
    for found in _BLOCK.finditer(page.read_text()):
        yield found["language"], found["body"], found["mark"] or "", found["value"] or ""


def matches(expected: str, printed: str) -> bool:
    """A line that is `…` alone stands for any lines, `…` within one for any text."""
    parts = []
    for line in expected.splitlines():
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(map(re.escape, line.split("…"))) + r"\n")
    return re.fullmatch("".join(parts), printed) is not None


def said(words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What a command line says; `$(cacheon …)` in it stands for what that prints."""

    def inner(found: re.Match[str]) -> str:
        return said(found[1], cwd).stdout.strip()

    first, *rest = shlex.split(re.sub(r"\$\((cacheon [^)]*)\)", inner, words))
    assert first == "cacheon", words
    return subprocess.run(
        [sys.executable, "-m", "cacheon.cli", *rest],
        cwd=cwd,
        env=dict(os.environ, NO_COLOR="1", PYTHONPATH=str(ROOT / "src"), OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```console" in page.read_text()], ids=lambda p: p.name
)
def test_console_blocks_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    for language, body, mark, value in blocks(page):
        if mark == "file":
            (tmp_path / value).write_text(body)
        if mark == "copy":
            shutil.copytree(ROOT / value, tmp_path, dirs_exist_ok=True)
        if language != "console":
            continue
        command, _, expected = body.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command = command[:-1] + more
        done = said(command.removeprefix("$ "), tmp_path)
        assert done.returncode == (int(value) if mark == "exit" else 0), done.stderr + done.stdout
        printed = done.stderr if mark == "exit" and not done.stdout else done.stdout
        assert matches(expected, printed), f"{command}\n{printed}"


def test_a_lone_ellipsis_stands_for_any_lines() -> None:
    assert matches("a\n…\nb …\n", "a\nx\ny\nb c\n")
    assert matches("a\n…\n", "a\n")
    assert not matches("a\nb\n", "a\nx\nb\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_other_blocks_parse(page: Path) -> None:
    for language, body, _, _ in blocks(page):
        match language:
            case "python":
                ast.parse(body)
            case "toml":
                tomllib.loads(body)
            case "json":
                json.loads(body)
            case _:
                assert language in ("", "console"), language


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_in_plain_blocks_exist(page: Path) -> None:
    """A `make` target or a verb that a page names is there."""
    from cacheon.cli.main import VERBS

    makefile = (ROOT / "Makefile").read_text()
    for language, body, _, _ in blocks(page):
        if language:
            continue
        for target in re.findall(r"^make ([a-z-]+)", body, re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        for verb in re.findall(r"^cacheon ([a-z]+)", body, re.MULTILINE):
            assert verb in VERBS, verb
