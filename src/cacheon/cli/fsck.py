"""`cacheon fsck STORE`"""

from pathlib import Path

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon fsck evidence
  cacheon fsck evidence --format json

\b
Exit codes:
  0 sound: what interrupted publishers leave (orphans, leftovers) is no damage, nor is an
    empty directory, where making a store was interrupted and nothing was ever stored
  1 damaged: something is not what it was published as, is missing, or does not belong there
  2 no store lies there, but something else, or not even a directory
  3 the store could not be read: nothing is known
"""
_DAMAGED = 1


@click.command(epilog=_EPILOG)
@click.argument("store", metavar="STORE", type=click.Path(path_type=Path))
@FORMAT
def command(store: Path, form: str) -> int:
    """Look at everything in a store of evidence, and change nothing.

    Every record is hashed again and every pointer followed. Damage never makes a PASS: what
    cannot be read is missing, and a grade made without it is NO_DECISION."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.fsck import check_store

    health = check_store(store)
    if form == "json":
        write_json("cacheon.health.v1", {"health": health, "sound": health.sound})
    else:
        from cacheon.report.stores import health_lines

        write_lines(health_lines(health))
    return 0 if health.sound else _DAMAGED
