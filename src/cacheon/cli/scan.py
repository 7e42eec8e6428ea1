"""`cacheon scan PATH…`"""

from pathlib import Path

import click

from cacheon.cli.writing import write_bytes, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon scan my_bundle
  cacheon scan kernels/attention.py
  cacheon scan my_bundle --format sarif > scan.sarif

\b
Exit codes:
  0 nothing was found, or all of it is ignored with a reason
  1 findings
  2 something could not be read
"""


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="text for a person, json or sarif for a program.",
)
def command(paths: tuple[Path, ...], form: str) -> int:
    """Find faults in the sources of bundles, or in any Python, without running them."""
    # Imported here: `--help` needs none of it.
    from cacheon.workflows.scan import scan

    reports = scan(paths)
    if form == "sarif":
        from cacheon.report.sarif import sarif

        write_bytes(sarif(reports))
    elif form == "json":
        write_json("cacheon.scan.v1", {"reports": reports})
    else:
        from cacheon.report.findings import scan_lines

        if any(report.kind != "unusable" for report in reports):
            write_lines(scan_lines(reports))
    # What could not be read is a line on standard error, whatever the format.
    for report in reports:
        for line in report.unusable:
            click.echo(f"cacheon: {line}", err=True)
    return max(report.exit_code for report in reports)
