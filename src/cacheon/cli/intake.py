"""`cacheon intake DELIVERY`"""

from pathlib import Path

import click

from cacheon.cli.observing import STORE
from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon intake observed --requirement requirement.json --store evidence
  cacheon intake DIGEST --requirement requirement.json --store evidence --from observed
  cacheon intake sent/delivery.json --requirement requirement.json --store evidence
  cacheon intake DIGEST --requirement DIGEST --store evidence --minimum h200-decode

\b
Exit codes:
  0 taken in: it counts from now on
  2 refused, with a stable code in the line (docs/evidence/reasons.md); nothing of it was kept
  3 a store could not be read or written; the command may be repeated
"""


@click.command(epilog=_EPILOG)
@click.argument("delivery", metavar="DELIVERY")
@click.option(
    "--requirement",
    required=True,
    metavar="R",
    help="The requirement that it must be for: a digest in the store, or a file to publish there.",
)
@STORE
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The observer's store, or a directory of files that are named by their digests.",
)
@click.option(
    "--minimum",
    multiple=True,
    metavar="ARENA",
    help="NAME=VERSION, or an arena's name or file: refuse older ones, now and ever after.",
)
@FORMAT
def command(
    delivery: str,
    requirement: str,
    store: Path,
    source: Path | None,
    minimum: tuple[str, ...],
    form: str,
) -> int:
    """Take a finished delivery into the authority's store, whole or not at all.

    DELIVERY is an observer's store, a digest, or the file of a signed envelope; by default its
    observations lie beside it. Whatever is not raw, typed, bound, canonical and signed by a
    pinned key is refused. The nonce is spent: each pinned key delivers once."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.intake import intake

    taken = intake(delivery, requirement, store, source, minimum)
    if form == "json":
        write_json("cacheon.intake.v1", taken)
        return 0
    from cacheon.report.decisions import taken_lines

    write_lines(
        taken_lines(
            taken.requirement,
            taken.delivery,
            taken.observer,
            len(taken.observations),
            taken.again,
            taken.absent,
        )
    )
    return 0
