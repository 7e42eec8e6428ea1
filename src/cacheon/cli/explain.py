"""`cacheon explain ID`"""

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon explain CG203
  cacheon explain --list
  cacheon explain failed-replay
  cacheon explain CG203 --format json
"""


@click.command(epilog=_EPILOG)
@click.argument("identity", metavar="ID", required=False)
@click.option("--list", "listed", is_flag=True, help="List every rule.")
@FORMAT
def command(identity: str | None, listed: bool, form: str) -> int:
    """Explain a rule, or a grade's reason code: what it means and what to do."""
    if listed == (identity is not None):
        raise click.UsageError("give one ID, or --list")
    # Imported here: `--help` needs none of it.
    from cacheon.rules.model import Rule
    from cacheon.workflows.explain import explain, list_rules

    if identity is None:
        rules = list_rules()
        if form == "json":
            write_json("cacheon.rules.v1", {"rules": rules})
        else:
            from cacheon.report.rules import rule_list_lines

            write_lines(rule_list_lines(rules))
        return 0
    found = explain(identity)
    if form == "json":
        write_json("cacheon.rule.v1" if isinstance(found, Rule) else "cacheon.reason.v1", found)
    else:
        from cacheon.report.rules import reason_lines, rule_lines

        write_lines(rule_lines(found) if isinstance(found, Rule) else reason_lines(found))
    return 0
