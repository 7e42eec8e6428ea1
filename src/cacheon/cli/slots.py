"""`cacheon slots [NAME]`"""

import click

from cacheon.cli.writing import FORMAT, write_json, write_lines

_EPILOG = """\b
Examples:
  cacheon slots
  cacheon slots norm.rmsnorm
  cacheon slots attention.decode --format json
"""


@click.command(epilog=_EPILOG)
@click.argument("name", required=False)
@FORMAT
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(name: str | None, form: str, as_json: bool) -> int:
    """List the slots, or show one's whole contract."""
    from cacheon.workflows.slots import contract_of, list_slots

    machine = as_json or form == "json"
    if name is None:
        slots = list_slots()
        if machine:
            listed = [{"name": s.name, "kind": s.kind, "title": s.title} for s in slots]
            write_json("cacheon.slots.v1", {"slots": listed})
        else:
            from cacheon.report.contracts import slot_lines

            write_lines(slot_lines(slots))
        return 0
    contract = contract_of(name)
    if machine:
        write_json("cacheon.slot.v1", contract)
    else:
        from cacheon.report.contracts import contract_lines

        write_lines(
            contract_lines(
                contract.slot,
                contract.tolerance,
                contract.row_error,
                contract.cases,
                contract.meaning,
            )
        )
    return 0
