"""`cacheon init SLOT DIR`"""

import shlex
from pathlib import Path

import click

from cacheon.cli.writing import write_lines
from cacheon.records.errors import one_line

_EPILOG = """\b
Examples:
  cacheon init activation.silu_and_mul my_bundle
  cacheon init norm.rmsnorm my_triton_bundle --template triton
  cacheon verify my_bundle
"""


@click.command(epilog=_EPILOG)
@click.argument("slot")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--template",
    type=click.Choice(["torch", "triton"]),
    default="torch",
    show_default=True,
    help="What the starter is written in.",
)
def command(slot: str, directory: Path, template: str) -> int:
    """Write a starter bundle for SLOT into DIR.

    DIR must be new or empty: nothing is ever overwritten."""
    # Imported here: `--help` needs none of it.
    from cacheon.workflows.init import init

    bundle = init(slot, directory, template)
    shown = one_line(str(directory))
    row = bundle.variants[0]
    # Quoted, so that the command can be pasted whatever the directory is called.
    next_step = f"edit {shown}/{row.source}, then run `cacheon verify {shlex.quote(shown)}`"
    write_lines([[("", f"wrote {shown}: {next_step}")]])
    return 0
