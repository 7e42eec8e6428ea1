"""`cacheon show ID --store DIR`"""

from pathlib import Path

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon show 6f2a --store evidence
  cacheon show 6f2a --store evidence --format json

\b
Exit codes:
  0 the record was shown
  2 there is none, or several begin so, or its bytes are damaged
  3 the store could not be read
"""


@click.command(epilog=_EPILOG)
@click.argument("named", metavar="ID")
@click.option(
    "--store",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The store that holds it.",
)
@FORMAT
def command(named: str, store: Path, form: str) -> int:
    """Show a record of a store: what it is, and everything that it says.

    ID is a digest, or as much of its beginning as only one record has. The bytes are
    hashed and read again; signatures are not verified here (`cacheon grade` does)."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.show import show_record

    shown = show_record(store, named)
    if form == "json":
        write_json("cacheon.record.v1", shown)
        return 0
    from cacheon.report.records import record_lines

    write_lines(
        record_lines(
            shown.kind,
            shown.digest,
            shown.bytes,
            shown.facts,
            shown.references,
            shown.signatures,
            shown.record,
        )
    )
    return 0
