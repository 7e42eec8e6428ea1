"""A signed delivery taken into a store that is not there yet. Run as a script it is what the
crash tests of intake kill (`tracing`).

    python delivering.py DIR SENT REQUIREMENT
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.paper.evidence.store.tracing import MARK

from cacheon.records.errors import InfrastructureError
from cacheon.workflows.intake import intake

if __name__ == "__main__":
    root, sent, requirement = sys.argv[1:]
    # Whatever is loaded late is loaded now: only the one intake is to be disturbed.
    with tempfile.TemporaryDirectory() as elsewhere:
        intake(sent, requirement, Path(elsewhere) / "store")
    print("ready", flush=True)
    os.read(0, 1)
    os.access(MARK, os.F_OK)
    try:
        intake(sent, requirement, Path(root))
    except InfrastructureError as error:
        print(error)
        sys.exit(3)
