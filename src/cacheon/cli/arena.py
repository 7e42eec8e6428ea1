"""`cacheon arena list|show|check`"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

if TYPE_CHECKING:
    from cacheon.contract.arenas import Published

_EPILOG = """\b
Examples:
  cacheon arena list
  cacheon arena show norm.rmsnorm
  cacheon arena show h200-decode --format json
  cacheon arena check arena.toml
"""


@click.group(epilog=_EPILOG, no_args_is_help=False)
def command() -> None:
    """Tell what an arena requires, before anybody invests in a kernel."""


@command.command("list")
@FORMAT
def listed(form: str) -> int:
    """List the arenas that come with the package."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.arena import list_arenas

    arenas = list_arenas()
    if form == "json":
        write_json("cacheon.arenas.v1", {"arenas": arenas})
    else:
        from cacheon.report.arenas import arena_list_lines

        write_lines(arena_list_lines(arenas))
    return 0


@command.command()
@click.argument("named", metavar="TARGET|NAME|FILE")
@FORMAT
def show(named: str, form: str) -> int:
    """Show what will be required of a TARGET in every shipped arena that holds it, or of
    every target of one arena, by its NAME or its .toml FILE."""
    from cacheon.workflows.arena import outlook

    outlooks = outlook(named)
    if form == "json":
        write_json("cacheon.arena.v1", {"outlooks": outlooks})
        return 0
    from cacheon.report.arenas import outlook_lines

    write_lines(
        outlook_lines(
            [
                (
                    found.published,
                    [
                        (
                            each.target,
                            [(m.slot, m.calls, m.limits, m.live_mode) for m in each.members],
                        )
                        for each in found.targets
                    ],
                )
                for found in outlooks
            ]
        )
    )
    return 0


@command.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@FORMAT
def check(file: Path, form: str) -> int:
    """Read an arena's FILE: its policy, or one line that says what is wrong with it."""
    from cacheon.workflows.arena import check_arena

    _show(check_arena(file), form)
    return 0


def _show(published: "Published", form: str) -> None:
    if form == "json":
        write_json("cacheon.arena.v1", {"outlooks": [{"published": published, "targets": []}]})
        return
    from cacheon.report.arenas import arena_lines

    write_lines(arena_lines(published))
