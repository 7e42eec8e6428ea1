"""Unusable bundles: each is refused by one clear line, exit code 2, and no traceback."""

import json
from pathlib import Path

import pytest

from cacheon.bundle import open_bundle
from cacheon.records.errors import CacheonError, InputError
from cacheon.scan.source import check_source

DIRECTORY = Path(__file__).parents[2] / "bundles" / "malformed"
EXPECTED = json.loads((DIRECTORY / "expect.json").read_text())


def test_the_table_names_every_bundle() -> None:
    assert sorted(EXPECTED) == sorted(path.name for path in DIRECTORY.iterdir() if path.is_dir())
    assert len(EXPECTED) >= 30


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_it_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(InputError) as caught:
        check_source(open_bundle(DIRECTORY / name))
    error: CacheonError = caught.value
    assert error.exit_code == 2
    assert len(error.message.splitlines()) == 1
    for fragment in EXPECTED[name]["says"]:
        assert fragment in error.message
