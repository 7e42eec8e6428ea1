"""`python -m cacheon.cli`."""

import sys

from cacheon.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
