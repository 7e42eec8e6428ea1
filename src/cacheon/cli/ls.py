"""`cacheon ls STORE`"""

from pathlib import Path

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon ls evidence
  cacheon ls evidence --kind grade
  cacheon ls evidence --kind delivery --format json

\b
Exit codes:
  0 the store was listed
  2 no store lies there
  3 the store could not be read
"""


@click.command(epilog=_EPILOG)
@click.argument("store", metavar="STORE", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    default="",
    metavar="KIND",
    help="requirement, delivery, observation, grade, and others: a wrong one lists them.",
)
@FORMAT
def command(store: Path, kind: str, form: str) -> int:
    """List what a store of evidence holds.

    The list is made from the stored bytes and kept beside them; it may be deleted at any
    time, and no grade is made from it."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.ls import list_records

    records = list_records(store, kind)
    if form == "json":
        write_json("cacheon.records.v1", {"records": records})
    else:
        from cacheon.report.stores import listing_lines

        write_lines(listing_lines(records))
    return 0
