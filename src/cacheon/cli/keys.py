"""`cacheon keys new|show`"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

if TYPE_CHECKING:
    from cacheon.workflows.keys import PublicKey

_EPILOG = """\b
Examples:
  cacheon keys new observer.key
  cacheon keys show observer.key
  cacheon require norm.rmsnorm --bundle my_bundle --arena h200-decode --launch launch.json \\
    --observer me=$(cacheon keys show observer.key)

\b
Exit codes:
  0 the public key was printed
  2 the file holds no key, others may read it, or a new one would replace it
  3 the key could not be written
"""


@click.group(epilog=_EPILOG, no_args_is_help=False)
def command() -> None:
    """Make the Ed25519 keys that sign deliveries, logs and statements."""


@command.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@FORMAT
def new(file: Path, form: str) -> int:
    """Write a new secret key to FILE, which only its owner may read, and print the public
    one: 64 characters, ready for `--observer NAME=KEY`. Nothing is ever overwritten."""
    # Imported here, as in every verb: `--help` needs none of it.
    from cacheon.workflows.keys import make_key

    _show(make_key(file), form)
    return 0


@command.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@FORMAT
def show(file: Path, form: str) -> int:
    """Print the public half of the secret key in FILE."""
    from cacheon.workflows.keys import public_key

    _show(public_key(file), form)
    return 0


def _show(public: "PublicKey", form: str) -> None:
    if form == "json":
        write_json("cacheon.key.v1", public)
    else:
        write_lines([[("", public.key)]])
