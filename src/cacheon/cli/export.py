"""`cacheon export GRADE`"""

from pathlib import Path

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines, write_new
from cacheon.records.errors import one_line

_EPILOG = """\b
Examples:
  cacheon export GRADE --store evidence --key signer.key --output grade.intoto.jsonl
  cacheon export GRADE --store evidence --key signer.key --output grade.intoto.jsonl \\
    --verifier https://lab.example/validator

\b
Exit codes:
  0 written, for PASS and for FAIL
  1 the evidence grades to something else than was published: nothing was signed
  2 no grade, no store, no key, or the file exists
  3 NO_DECISION, or evidence is gone: there is nothing to state
"""


@click.command(epilog=_EPILOG)
@click.argument("named", metavar="GRADE")
@click.option(
    "--store",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the grade and its evidence lie.",
)
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The secret key that signs (`cacheon keys new`).",
)
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A new file: one signed envelope a line.",
)
@click.option(
    "--verifier", default="", metavar="URI", help="Who verified; by default named by the key."
)
@FORMAT
def command(named: str, store: Path, key: Path, output: Path, verifier: str, form: str) -> int:
    """Sign what was decided, as in-toto statements about the bundle.

    GRADE is a digest, or as much of its beginning as only one record has; it is recomputed
    first. Two statements in DSSE envelopes: the grade, and a SLSA verification summary."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.export import export

    exported = export(named, store, key, verifier=verifier)
    write_new(output, exported.data)
    if form == "json":
        facts = ("grade", "bundle", "decision", "verifier", "key")
        write_json("cacheon.export.v1", {name: getattr(exported, name) for name in facts})
        return 0
    write_lines(
        [
            [("bold", f"{exported.decision} of bundle {exported.bundle}")],
            [("", f"  signed by {exported.key} for {one_line(exported.verifier)}")],
            [("dim", f"wrote {one_line(str(output))}")],
        ]
    )
    return 0
