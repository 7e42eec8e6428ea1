"""`cacheon observe REQUIREMENT`"""

from pathlib import Path

import click

from cacheon.cli.observing import STORE, deadlines
from cacheon.cli.writing import FORMAT, write_json, write_lines
from cacheon.workflows.options import Options

_EPILOG = """\b
Examples:
  cacheon observe requirement.json --bundle my_bundle --store evidence --key observer.key

\b
Exit codes:
  0 every required case has an observation, and a delivery lists them all
  2 contract, bundle, machine or key is another than the requirement's
  3 nothing could be started
"""


@click.command(epilog=_EPILOG)
@click.argument("requirement", type=click.Path(path_type=Path))
@click.option(
    "--bundle",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The candidate, byte for byte the one that the requirement binds.",
)
@STORE
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The observer's secret key (`cacheon keys new`), pinned by the requirement.",
)
@deadlines
@FORMAT
def command(
    requirement: Path,
    bundle: Path,
    store: Path,
    key: Path,
    timeout: float,
    compile_timeout: float,
    form: str,
) -> int:
    """Examine exactly the required cases, write raw observations, sign one delivery.

    What was seen decides nothing here: hand the delivery to `cacheon intake`. A run that
    was killed goes on where it stopped; a variant that was seen is not examined again."""
    # Imported here: `--help` needs none of it.
    from cacheon.report.observed import OBSERVED, observed_lines
    from cacheon.report.progress import progress
    from cacheon.workflows.observe import observe

    options = Options(timeout=timeout, compile_timeout=compile_timeout)
    with progress() as tell:
        observed = observe(requirement, bundle, store, key, options, tell)
    if form == "json":
        write_json(OBSERVED, observed)
    else:
        write_lines(observed_lines(observed))
    return 0
