"""`cacheon sweep STORE`"""

from pathlib import Path

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon sweep evidence --dry-run
  cacheon sweep evidence --older-than 12h

\b
Exit codes:
  0 swept, or nothing to sweep
  2 no store lies there, or something reached is damaged: then nothing is removed but leftovers
  3 the store could not be read or changed
"""


@click.command(epilog=_EPILOG)
@click.argument("store", metavar="STORE", type=click.Path(path_type=Path))
@click.option(
    "--older-than",
    default="7d",
    show_default=True,
    metavar="AGE",
    help="Longer than anybody observes before delivering: a number and s, m, h or d.",
)
@click.option("--dry-run", is_flag=True, help="Tell what would go, and remove nothing.")
@FORMAT
def command(store: Path, older_than: str, dry_run: bool, form: str) -> int:
    """Remove from a store what no pointer reaches: what interrupted publishers left.

    Whatever was committed stays, and everything that it rests on."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.sweep import sweep_store

    swept = sweep_store(store, older_than, dry_run=dry_run)
    if form == "json":
        write_json("cacheon.swept.v1", {"dry_run": dry_run, "swept": swept})
    else:
        from cacheon.report.stores import swept_lines

        write_lines(swept_lines(swept, dry_run))
    return 0
