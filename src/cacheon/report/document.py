"""Anything we say, as one JSON object under a schema name."""

from typing import Any

import msgspec

RUN = "cacheon.verify.v1"
"""The schema of a RunOutcome."""


def document(schema: str, body: Any) -> bytes:
    """Indented JSON of a record or mapping, keys sorted, ASCII escapes for what is not
    one_line; numbers that were measured are exact strings already."""
    whole = {"schema": schema, **msgspec.to_builtins(body, str_keys=True)}
    return msgspec.json.format(msgspec.json.encode(whole, order="sorted"), indent=2) + b"\n"
