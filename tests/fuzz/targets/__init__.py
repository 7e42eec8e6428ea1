"""One target for each parser of bytes that somebody else wrote."""

from importlib import import_module
from typing import Final

from tests.fuzz.targets.target import Target

PLACES: Final = {
    "records": ("records", "TARGET"),
    "envelope": ("envelope", "TARGET"),
    "keys": ("keys", "TARGET"),
    "pointer": ("store_files", "POINTER"),
    "format": ("store_files", "FORMAT_FILE"),
    "index": ("index_file", "TARGET"),
    "log": ("log_files", "ENTRIES"),
    "checkpoints": ("log_files", "CHECKPOINTS"),
    "arena": ("arena", "TARGET"),
    "bundle": ("bundle", "TARGET"),
    "source": ("source", "TARGET"),
    "frames": ("frames", "TARGET"),
    "dump": ("dump", "TARGET"),
}
"""By name: the module, and what it is called there."""


def target(name: str) -> Target:
    """A target; only its own parsers are imported, so that they can be instrumented first."""
    module, place = PLACES[name]
    found: Target = getattr(import_module(f"tests.fuzz.targets.{module}"), place)
    return found
