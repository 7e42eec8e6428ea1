"""Options that the verbs share which have something examined for evidence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

STORE = click.option(
    "--store",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The evidence store; made where there is none.",
)


def deadlines(command: F) -> F:
    """`--timeout` and `--compile-timeout`, as `verify` has them."""
    compiling = click.option(
        "--compile-timeout",
        type=click.FloatRange(0.1, 7200),
        default=300.0,
        show_default=True,
        help="Seconds for loading, preparing and warming up, where compilers run.",
    )
    plain = click.option(
        "--timeout",
        type=click.FloatRange(0.1, 3600),
        default=30.0,
        show_default=True,
        help="Seconds for one command of the worker.",
    )
    return plain(compiling(command))
