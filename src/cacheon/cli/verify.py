"""`cacheon verify BUNDLE…`"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cacheon.cli.writing import write_bytes, write_json, write_lines
from cacheon.records.errors import InputError, one_line
from cacheon.workflows.options import Options

if TYPE_CHECKING:
    from cacheon.engine.outcome import RunOutcome

_EPILOG = """\b
Examples:
  cacheon verify my_bundle
  cacheon verify my_bundle --device cuda --dtype bfloat16 --require-graph
  cacheon verify my_bundle --device cpu --watch
  cacheon verify my_collective --world-size 4 --tp-size 4
  cacheon verify one two three --format json > run.json
  cacheon verify my_bundle --seed 12345 --case num_tokens=333 -v

\b
Exit codes:
  0 what was asked for was shown (on a CPU: the arithmetic, and no rehearsal failed)
  1 the candidate failed, or no case applied
  2 the input is unusable, or the device that was asked for is not there
  3 no decision: infrastructure
  4 --require-graph, and graph proof cannot be had on this device
"""


@click.command(epilog=_EPILOG)
@click.argument("bundles", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "cpu"]),
    default="auto",
    show_default=True,
    help="Where to run; auto takes CUDA where there is a GPU.",
)
@click.option(
    "--dtype",
    type=click.Choice(["bfloat16", "float16", "float32"]),
    help="Run dtype; by default the first that the row declares.",
)
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="Repeat a run with its seed.")
@click.option(
    "--replays",
    type=click.IntRange(2, 1000),
    default=8,
    show_default=True,
    help="Compared replays of each case, in each of two orders.",
)
@click.option(
    "--soak",
    type=click.IntRange(0, 100_000),
    help="Replays in bursts after them, every answer compared; 256 on a GPU, 64 on a CPU.",
)
@click.option("--variant", "variants", multiple=True, help="Only this variant (repeatable).")
@click.option("--case", "cases", multiple=True, help="Only cases whose label holds this text.")
@click.option("--all", "every_row", is_flag=True, help="Rows outside the target's members too.")
@click.option("--full", is_flag=True, help="The catalogue's own sizes on a CPU too.")
@click.option(
    "--context",
    "context",
    multiple=True,
    metavar="KEY=VALUE",
    help="A context field of the call: model, runtime, quant, alignment, page_size, phase.",
)
@click.option(
    "--isolation",
    type=click.Choice(["process", "inline"]),
    default="process",
    show_default=True,
    help="inline: grader and candidate in one process, for a GPU in exclusive mode.",
)
@click.option(
    "--world-size",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Ranks that collectives are examined with: one process each, and one GPU on CUDA.",
)
@click.option(
    "--tp-size",
    type=click.IntRange(1, 64),
    help="Tensor-parallel size of the call; the world size, which is the default.",
)
@click.option("--require-graph", is_flag=True, help="Exit 4 where graph proof cannot be had.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    default=30.0,
    show_default=True,
    help="Seconds for one command of the worker.",
)
@click.option(
    "--compile-timeout",
    type=click.FloatRange(0.1, 7200),
    default=300.0,
    show_default=True,
    help="Seconds for loading, preparing and warming up, where compilers run.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    show_default=True,
    help="text for a person, json or junit for a program.",
)
@click.option("--watch", is_flag=True, help="Verify again on every save.")
@click.option("-v", "--verbose", is_flag=True, help="Orders, stages and nodes of every case.")
def command(
    bundles: tuple[Path, ...],
    context: tuple[str, ...],
    form: str,
    watch: bool,
    verbose: bool,
    **asked: Any,
) -> int:
    """Examine bundles: eager check, capture, replay, verdict."""
    if watch and form != "text":
        raise click.UsageError("--watch is for a person: it goes with --format text only")
    options = Options(context=_pairs(context), **{k: v for k, v in asked.items() if v is not None})
    # Imported here, so that --help needs none of it.
    from cacheon.report.progress import progress

    with progress() as tell:
        if watch:
            from cacheon.workflows.watch import watch_bundles

            return watch_bundles(bundles, options, lambda run: _show(run, form, verbose), tell)
        from cacheon.workflows.verify import verify

        run = verify(bundles, options, tell)
    _show(run, form, verbose)
    return run.exit_code


def _pairs(context: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in context:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise InputError(place="--context", expected="KEY=VALUE", got=repr(text))
        pairs[key] = value
    return pairs


def _show(run: "RunOutcome", form: str, verbose: bool) -> None:
    if form == "json":
        from cacheon.report.document import RUN

        write_json(RUN, run)
    elif form == "junit":
        from cacheon.report.junit import junit

        write_bytes(junit(run))
    else:
        from cacheon.report.text import run_lines

        write_lines(run_lines(run, verbose))
    # What stopped a bundle is one line on standard error, whatever the format.
    for bundle in run.bundles:
        if bundle.error:
            click.echo(f"cacheon: {one_line(bundle.error)}", err=True)
