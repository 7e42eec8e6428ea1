"""`cacheon grade REQUIREMENT`"""

from pathlib import Path

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon grade requirement.json --store evidence
  cacheon grade DIGEST --store evidence --format json
  cacheon grade requirement.json --store evidence --expect-bundle my_bundle

\b
Exit codes:
  0 PASS
  1 FAIL
  2 nothing is known of the requirement, it binds another bundle or applies an older policy
  3 NO_DECISION, or the store could not be used
"""
_CODES = {"PASS": 0, "FAIL": 1, "NO_DECISION": 3}


@click.command(epilog=_EPILOG)
@click.argument("requirement", metavar="REQUIREMENT")
@click.option(
    "--store",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The store into which deliveries were taken; the grade is published there.",
)
@click.option(
    "--expect-bundle",
    "bundle",
    default="",
    metavar="DIR|DIGEST",
    help="Refuse a requirement that binds another candidate.",
)
@click.option(
    "--minimum",
    multiple=True,
    metavar="ARENA",
    help="NAME=VERSION, or an arena's name or file: refuse older ones, now and ever after.",
)
@FORMAT
def command(requirement: str, store: Path, bundle: str, minimum: tuple[str, ...], form: str) -> int:
    """Decide from the raw observations of a store: PASS, FAIL or NO_DECISION.

    REQUIREMENT is a digest in the store, or a file, which is published there first. Everything
    is read again and decided anew; every reason is given, with what to do, and everything
    that was set aside, with why. Neither torch nor a device is needed."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.grade import grade

    graded = grade(requirement, store, bundle=bundle, minimum=minimum)
    if form == "json":
        from cacheon.report.decisions import remedies

        body = {
            "digest": graded.digest,
            "target": graded.target,
            "calls": graded.calls,
            "grade": graded.grade,
            "codes": remedies(graded.grade),
        }
        write_json("cacheon.graded.v1", body)
    else:
        from cacheon.report.decisions import grade_lines

        write_lines(grade_lines(graded.grade, graded.digest, graded.target, graded.calls))
    return _CODES[graded.grade.decision]
