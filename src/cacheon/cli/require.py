"""`cacheon require TARGET`"""

from pathlib import Path

import click

from cacheon.cli.writing import write_bytes, write_lines, write_new
from cacheon.records.errors import one_line

_EPILOG = """\b
Examples:
  cacheon launch --output launch.json
  cacheon require norm.rmsnorm --bundle my_bundle --arena h200-decode --launch launch.json \\
    --observer me=KEY --output requirement.json
  cacheon require norm.rmsnorm --bundle my_bundle --arena arena.toml --launch launch.json

\b
Exit codes:
  0 the requirement was written, and a PASS is possible
  1 the requirement was written, and whatever is observed for it can only FAIL
  2 bundle, arena, launch and target do not go together
"""
_FAILED = 1


@click.command(epilog=_EPILOG)
@click.argument("target")
@click.option(
    "--bundle",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The candidate; it is read as data, nothing of it is imported.",
)
@click.option(
    "--arena",
    required=True,
    metavar="NAME|FILE",
    help="A shipped arena (`cacheon arena list`), or a .toml file.",
)
@click.option(
    "--launch",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What `cacheon launch` wrote on the machine that will run.",
)
@click.option(
    "--observer",
    "observers",
    multiple=True,
    metavar="NAME=KEY",
    help="Pin a public key that may deliver, beside the arena's own (repeatable).",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the requirement to a new file instead of standard output.",
)
def command(
    target: str,
    bundle: Path,
    arena: str,
    launch: Path,
    observers: tuple[str, ...],
    output: Path | None,
) -> int:
    """Write what must be shown of a candidate, before anything runs.

    Everything is decided on paper, under a fresh nonce: the members and their contracts,
    every variant and its exact cases, counts, probes, keys. What can only fail is said at
    once."""
    # Imported here: `--help` needs none of it.
    from cacheon.report.requirements import reason_words, requirement_lines
    from cacheon.workflows.require import issue

    issued = issue(target, bundle, arena, launch, observers)
    if output is None:
        write_bytes(issued.data)
        # Standard output holds the record alone.
        for reason in issued.foreseen:
            click.echo(f"cacheon: can only FAIL: {one_line(reason_words(reason))}", err=True)
        for note in issued.notes:
            click.echo(f"cacheon: {note}", err=True)
    else:
        write_new(output, issued.data)
        write_lines(
            requirement_lines(issued.requirement, issued.digest, issued.foreseen, issued.notes)
        )
        write_lines([[("dim", f"wrote {one_line(str(output))}")]])
    return _FAILED if issued.foreseen else 0
