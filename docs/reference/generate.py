"""Writes cli.md from `--help`: `make reference`. A test compares the two."""

import sys
from pathlib import Path

import click

from cacheon.cli.main import VERBS, main

TARGET = Path(__file__).with_name("cli.md")
_HEAD = """# Command line

Written by `make reference` from `cacheon --help` and the help of every verb.
`python -m cacheon.cli` is the same as `cacheon`.
"""


def reference() -> str:
    """The whole page."""
    names = main.context_settings["help_option_names"]
    with click.Context(
        main, info_name="cacheon", terminal_width=88, help_option_names=names
    ) as top:
        parts = [_HEAD, _section("cacheon", main.get_help(top))]
        for verb in VERBS:
            command = main.get_command(top, verb)
            if command is None:
                raise SystemExit(f"no such verb: {verb}")
            with click.Context(command, parent=top, info_name=verb) as context:
                parts.append(_section(f"cacheon {verb}", command.get_help(context)))
                if isinstance(command, click.Group):
                    parts += _parts(command, context)
    return "\n".join(parts)


def _parts(group: click.Group, above: click.Context) -> list[str]:
    """A section for each part of a verb."""
    found = []
    for name, part in group.commands.items():
        with click.Context(part, parent=above, info_name=name) as context:
            found.append(_section(f"{above.command_path} {name}", part.get_help(context)))
    return found


def _section(name: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {name}\n\n```\n{lines}\n```\n"


if __name__ == "__main__":
    TARGET.write_text(reference())
    sys.stdout.write(f"wrote {TARGET}\n")
