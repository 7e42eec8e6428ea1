"""What faulthandler printed in a worker that hangs, or what the candidate printed instead."""

import msgspec
from tests.fuzz.targets.target import Target, refused, room

from cacheon.engine.host.child import TAIL
from cacheon.engine.host.locating import innermost_line
from cacheon.engine.protocol import Where
from cacheon.records.errors import CacheonError

_SECRET = "what only the host may read"


def check(data: bytes) -> bool:
    """A line is of a file below the root, within the limits of a message, and not read through
    a link. No line is no error."""
    root = room("dump") / "root"
    if not root.is_dir():
        _lay()
    # As the supervisor reads it, and with the real root where a seed cannot know it.
    text = data[-TAIL:].decode("utf-8", "replace").replace("ROOT", str(root))
    try:
        where = innermost_line(text, str(root))
    except CacheonError as error:
        return refused(error)
    if where is None:
        return False
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(where), type=Where) == where
    assert where.file and not where.file.startswith(("/", "../"))
    assert _SECRET not in where.source
    return True


def _lay() -> None:
    """A snapshot in which the candidate has made links to what lies outside."""
    root = room("dump") / "root"
    (root / "kernels").mkdir(parents=True)
    (root / "kernels" / "k.py").write_text("def f():\n    while True:\n        pass\n")
    outside = room("dump") / "outside"
    outside.mkdir()
    (outside / "secret").write_text(f"{_SECRET}\n" * 40)
    (root / "directory").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    (root / "hard").hardlink_to(outside / "secret")


def seeds() -> list[bytes]:
    inner = b'  File "ROOT/kernels/k.py", line 3 in f\n'
    outer = b'  File "/usr/lib/python3.11/threading.py", line 16 in wait\n'
    head = b"Current thread 0x00007f0000000000 (most recent call first):\n"
    linked = (b"directory/secret", b"file", b"hard")
    return [
        head + outer + inner,
        b"noise " * 40 + head + inner + outer,
        *(head + b'  File "ROOT/%s", line 3 in f\n' % name for name in linked),
    ]


TARGET = Target(
    "dump",
    check,
    seeds,
    words=(
        b'File "', b'", line ', b" in ", b"ROOT/", b'  File "ROOT/kernels/k.py", line 2 in f\n',
        b"99999999", b"0", b"directory/secret", b"ROOT/../outside/secret", b"hard", b"./", b"//",
        b"\xd9\xa3", b"<module>", b'  File "ROOT/directory/secret", line 1 in g\n',
    ),
)  # fmt: skip
