"""What a source does only when it is run as a script is nothing that importing does."""

from collections.abc import Callable

import pytest

from cacheon.scan.findings import ScanFinding

Found = Callable[..., list[ScanFinding]]
HEAD = """\
import os
import sys
import torch
def silu_and_mul(x, out):
    out.copy_(x[:, : out.shape[1]])
"""
LINES = [
    "sys.exit(0)",
    "os.environ['A'] = '1'",
    "os._exit(1)",
    "torch.cuda.synchronize()",
    "import subprocess; subprocess.run(['nvcc'])",
    "import pickle",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "guard",
    [
        "if __name__ == '__main__':\n    BODY",
        "if '__main__' == __name__:\n    BODY",
        "if __name__ == '__main__' and len(sys.argv):\n    BODY",
        "if __name__ != '__main__':\n    pass\nelse:\n    BODY",
        "try:\n    if __name__ == '__main__':\n        BODY\nfinally:\n    pass",
        "def main():\n    if __name__ == '__main__':\n        BODY",
    ],
)
def test_what_a_script_does_is_not_found(guard: str, line: str, found: Found) -> None:
    assert found(HEAD + guard.replace("BODY", line) + "\n") == []


@pytest.mark.parametrize(
    "guard",
    [
        "if __name__ == '__main__':\n    pass\nelse:\n    BODY",
        "if __name__ != '__main__':\n    BODY",
        "if __name__ != '__main__' and len(sys.argv):\n    BODY",
        "if __name__ == '__main__' or True:\n    BODY",
        "if __name__ == 'k':\n    BODY",
        "if __name__ in '__main__':\n    BODY",
        "if '__main__' < __name__:\n    BODY",
        "__name__ = '__main__'\nif __name__ == '__main__':\n    BODY",
        "sys.modules['k'].__name__ = 'a'\nif __name__ == '__main__':\n    BODY",
        "globals()['__name__'] = '__main__'\nif __name__ == '__main__':\n    BODY",
        "globals().update(__name__='__main__')\nif __name__ == '__main__':\n    BODY",
        "from k2 import NAME as __name__\nif __name__ == '__main__':\n    BODY",
        "from k2 import __name__\nif __name__ == '__main__':\n    BODY",
    ],
)
def test_what_importing_may_do_is_found(guard: str, found: Found) -> None:
    files = {"kernels/k2.py": "NAME = '__main__'\n__name__ = NAME\n"}
    source = "from k2 import NAME\n" + HEAD + guard.replace("BODY", "sys.exit(0)") + "\n"
    assert "CG902" in {finding.rule for finding in found(source, files=files)}


def test_the_rest_of_such_a_source_is_read(found: Found) -> None:
    block = "if __name__ == '__main__':\n    import k2\n    sys.exit(k2)\n"
    source = HEAD + "    x.sum().item()\n" + block
    # A script imports it: it is no file that nobody names.
    assert [f.rule for f in found(source, files={"kernels/k2.py": ""})] == ["CG101"]
