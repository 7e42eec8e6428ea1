"""`cacheon audit GRADE`"""

from pathlib import Path

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon audit GRADE --store evidence
  cacheon audit GRADE --store evidence --log log --log-key lab.example=KEY
  cacheon audit GRADE --store evidence --log log --log-key lab.example=KEY --since kept.json

\b
Exit codes:
  0 the same decision for the same reasons; the log, where one is given, fits and covers it
  1 another decision, other reasons or evidence, a delivery that it leaves out makes it worse;
    or the log contradicts what it signed or does not cover it
  2 no grade, no store, no log, or signed by nobody pinned
  3 evidence is gone, so that nobody can recompute it; or a store could not be read
"""
_CODES = {"same": 0, "differs": 1, "lost": 3}
_CONTRADICTED = 1


@click.command(epilog=_EPILOG)
@click.argument("named", metavar="GRADE")
@click.option(
    "--store",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the grade and its evidence lie; nothing is written there.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The log in which requirement and grade must be listed.",
)
@click.option(
    "--log-key",
    "keys",
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
@FORMAT
def command(
    named: str, store: Path, log: Path | None, keys: tuple[str, ...], since: Path | None, form: str
) -> int:
    """Recompute a published grade from the bytes that it rests on, on any machine.

    GRADE is a digest, or as much of its beginning as only one record has. A log shows what
    was deleted or rewritten after it was signed, to whoever kept a checkpoint."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.audit import audit

    audited = audit(named, store, log=log, keys=keys, since=since)
    if form == "json":
        write_json("cacheon.audit.v1", audited)
    else:
        from cacheon.report.audits import absent_lines, audit_lines, logged_lines

        write_lines(
            audit_lines(
                audited.digest, audited.outcome, audited.published, audited.made, audited.lost
            )
        )
        if audited.log:
            seen = audited.log
            covered = {"requirement": seen.requirement, "grade": seen.grade}
            write_lines(
                logged_lines(seen.origin, seen.contradiction, seen.size, seen.since, covered)
            )
            write_lines(absent_lines(seen.absent))
    if audited.log and not audited.log.fits:
        return _CONTRADICTED
    return _CODES[audited.outcome]
