"""Tries inputs of a target once more: `python -m tests.fuzz.replay TARGET FILE…`."""

import argparse
from pathlib import Path

from tests.fuzz.loop import attempt
from tests.fuzz.targets import PLACES, target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=PLACES)
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    for path in given.files:
        accepted = attempt(target(given.target), path.read_bytes())
        print(f"{path}: {'accepted' if accepted else 'refused'}")


if __name__ == "__main__":
    main()
