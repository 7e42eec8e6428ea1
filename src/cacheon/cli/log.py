"""`cacheon log append|checkpoint|verify`"""

from pathlib import Path

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines, write_new
from cacheon.records.errors import one_line

_EPILOG = """\b
Examples:
  cacheon log append log --store evidence
  cacheon log checkpoint log --origin lab.example --key log.key --output checkpoint.json
  cacheon log verify log --log-key lab.example=$(cacheon keys show log.key) --store evidence

\b
Exit codes:
  0 appended, signed, or: the log fits all that it signed, and the store has what it lists
  1 the log contradicts what it signed, or the store lacks what it lists
  2 no log, no store, no key, or signed by nobody pinned
  3 a log or store could not be read or written
"""
_CONTRADICTED = 1
_LOG = click.argument("log", metavar="LOG", type=click.Path(path_type=Path))


@click.group(epilog=_EPILOG, no_args_is_help=False)
def command() -> None:
    """Keep an append-only log of what was published, so that deleted or forked evidence is
    seen by whoever kept a checkpoint."""


@command.command()
@_LOG
@click.argument("digests", metavar="[DIGEST]...", nargs=-1)
@click.option(
    "--store",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The store in which they were published.",
)
@FORMAT
def append(log: Path, digests: tuple[str, ...], store: Path, form: str) -> int:
    """List requirements and grades in LOG, which is made where there is none: by DIGEST, or
    all that were published in the store. What is listed already stays as it is."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.log import append as append_to

    entries = append_to(log, store, digests)
    if form == "json":
        write_json("cacheon.log.entries.v1", {"entries": entries})
    else:
        write_lines([[("", f"{each.index}  {each.kind}  {each.digest}")] for each in entries])
        write_lines([[("dim", f"{len(entries)} new entries")]])
    return 0


@command.command()
@_LOG
@click.option("--origin", required=True, metavar="NAME", help="The log's name, for ever the same.")
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The log's secret key (`cacheon keys new`).",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the signed checkpoint to a new file, for others to keep.",
)
@FORMAT
def checkpoint(log: Path, origin: str, key: Path, output: Path | None, form: str) -> int:
    """Sign how many entries LOG has and what their root is. A history that does not fit
    the last checkpoint is not signed, nor a log whose last checkpoint another key signed:
    a log is its owner's, and keeps its key."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.log import checkpoint as sign

    signed = sign(log, origin, key)
    if output is not None:
        write_new(output, signed.data)
    if form == "json":
        write_json("cacheon.log.checkpoint.v1", {"checkpoint": signed.checkpoint})
    else:
        from cacheon.report.audits import checkpoint_line

        write_lines([checkpoint_line(signed.checkpoint)])
        if output is not None:
            write_lines([[("dim", f"wrote {one_line(str(output))}")]])
    return 0


@command.command()
@_LOG
@click.option(
    "--log-key",
    "keys",
    required=True,
    multiple=True,
    metavar="NAME=KEY",
    help="The log's name, and a public key that may sign for it (repeatable).",
)
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    metavar="CHECKPOINT",
    help="A checkpoint that you kept: the log must begin with all that it counted.",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A store that must hold the records that the log lists. What those rest on is not looked "
    "for: `cacheon audit` and `cacheon fsck` do that.",
)
@FORMAT
def verify(
    log: Path, keys: tuple[str, ...], since: Path | None, store: Path | None, form: str
) -> int:
    """Hold LOG against every checkpoint that it signed."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.log import verify_log

    found = verify_log(log, keys, since=since, store=store)
    if form == "json":
        write_json("cacheon.log.v1", found)
    else:
        from cacheon.report.audits import absent_lines, logged_lines, stored_line

        write_lines(logged_lines(found.origin, found.contradiction, found.size, found.since, {}))
        write_lines(absent_lines(found.absent))
        if store is not None and not found.contradiction:
            write_lines([stored_line(found.absent)])
    return _CONTRADICTED if found.contradiction or found.absent else 0
