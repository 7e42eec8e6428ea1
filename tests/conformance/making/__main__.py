"""Write the directories again: `python -m tests.conformance.making`."""

import shutil
import sys
from pathlib import Path

from tests.conformance.making.suite import ROOT, entries, write


def main(root: Path = ROOT) -> None:
    for old in root.iterdir():
        if (old / "command").exists():
            shutil.rmtree(old)
    made = entries()
    for entry in made:
        write(entry, root)
    sys.stdout.write(f"{len(made)} directories\n")


if __name__ == "__main__":
    main()
