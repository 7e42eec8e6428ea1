"""`cacheon qualify BUNDLE…`"""

from pathlib import Path

import click

from cacheon.cli.observing import STORE, deadlines
from cacheon.cli.writing import FORMAT, write_json, write_lines
from cacheon.records.errors import one_line
from cacheon.workflows.options import Options

_EPILOG = """\b
Examples:
  cacheon qualify my_bundle --arena h200-decode --store evidence
  cacheon qualify my_bundle --arena arena.toml --store evidence --key observer.key
  cacheon qualify my_bundle --arena rehearsal-cpu --store practice

\b
Exit codes (several bundles: 2 before 1 before 3):
  0 PASS
  1 FAIL
  2 bundle, arena or machine is unusable
  3 NO_DECISION
"""


@click.command(epilog=_EPILOG)
@click.argument("bundles", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--arena",
    required=True,
    metavar="NAME|FILE",
    help="A shipped arena (`cacheon arena list`), or a .toml file.",
)
@STORE
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The key that signs; without it one is made for this command alone.",
)
@click.option("--target", default="", help="What to qualify for, where a bundle does not say.")
@deadlines
@FORMAT
def command(
    bundles: tuple[Path, ...],
    arena: str,
    store: Path,
    key: Path | None,
    target: str,
    timeout: float,
    compile_timeout: float,
    form: str,
) -> int:
    """Require, observe, take in and grade in one go, on a machine that trusts itself.

    The evidence stays in the store: `cacheon audit` regrades it anywhere."""
    # Imported here: `--help` needs none of it.
    from cacheon.report.observed import QUALIFIED, qualification_lines
    from cacheon.report.progress import progress
    from cacheon.workflows.qualify import qualify

    options = Options(timeout=timeout, compile_timeout=compile_timeout)
    with progress() as tell:
        decided = qualify(bundles, arena, store, options, tell, key=key, target=target)
    if form == "json":
        write_json(QUALIFIED, decided)
    else:
        write_lines(qualification_lines(decided))
    for bundle in decided.bundles:
        if bundle.error:
            click.echo(f"cacheon: {one_line(bundle.error)}", err=True)
    return decided.exit_code
