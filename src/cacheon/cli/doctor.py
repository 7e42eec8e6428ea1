"""`cacheon doctor`"""

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon doctor
  cacheon doctor --format json
"""


@click.command(epilog=_EPILOG)
@FORMAT
def command(form: str) -> int:
    """Say what this machine can do, and what to install."""
    # Imported here: `--help` needs none of it.
    from cacheon.workflows.doctor import doctor

    health = doctor()
    if form == "json":
        write_json("cacheon.doctor.v1", health)
        return 0
    from cacheon.report.health import ability_lines, check_line

    write_lines(check_line(c.name, c.state, c.found, c.advice) for c in health.checks)
    able = (
        ("numerics", health.numerics),
        ("rehearsal of the capture on a CPU", health.rehearsal),
        ("graph proof on a GPU", health.graph),
    )
    write_lines(ability_lines(able, health.isolation))
    return 0
