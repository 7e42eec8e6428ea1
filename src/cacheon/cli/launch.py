"""`cacheon launch`"""

from pathlib import Path
from typing import Literal

import click

from cacheon.cli.writing import write_bytes, write_lines, write_new
from cacheon.records.errors import one_line

_EPILOG = """\b
Examples:
  cacheon launch
  cacheon launch --output launch.json
  CUDA_VISIBLE_DEVICES=0,1 cacheon launch --device cuda --output launch.json
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "cpu"]),
    default="auto",
    show_default=True,
    help="What will run; auto takes CUDA where there is a GPU.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the record to a new file instead of standard output.",
)
def command(device: Literal["auto", "cuda", "cpu"], output: Path | None) -> int:
    """Describe the machine that will run.

    The record names every visible device and the versions of the software, and no path or
    serial number; a requirement binds it. Devices must be alike."""
    # Imported here: `--help` needs none of it.
    from cacheon.records.canonical import encode
    from cacheon.report.requirements import launch_line
    from cacheon.workflows.launch import launch

    found = launch(device)
    if output is None:
        write_bytes(encode(found))
        return 0
    write_new(output, encode(found))
    write_lines([launch_line(found), [("dim", f"wrote {one_line(str(output))}")]])
    return 0
