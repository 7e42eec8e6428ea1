"""Files that are no plain files, or not the bytes that their names say."""

from collections.abc import Iterator

from tests.conformance.making.entry import Entry, Files, at_intake, blob, sent, stored
from tests.conformance.making.world import REQUIREMENT, canonical, digest, rows_of

ROW = canonical(rows_of()[0])
NAME = digest(rows_of()[0])
FILE, OTHER = f"sent/{NAME}.json", "sent/other"
ENVELOPE = "sent/delivery.json"
MOST = (8 << 20) * 4 // 3 + 17 * 256
"""Bytes that an envelope may have."""


def given(**more: bytes) -> Files:
    return sent() | more


def moved(name: str) -> Files:
    """A delivery one file of which lies under another name."""
    files = sent()
    files[OTHER] = files.pop(name)
    return files


def entries() -> Iterator[Entry]:
    for what, name in (("observation", FILE), ("delivery", ENVELOPE)):
        yield at_intake(f"refused-not-a-file-{what}-is-a-link", moved(name), f"link {name} other")
        yield at_intake(
            f"refused-not-a-file-{what}-is-an-endless-device",
            moved(name),
            f"link {name} /dev/zero",
        )
        yield at_intake(f"refused-not-a-file-{what}-is-a-fifo", moved(name), f"fifo {name}")
        yield at_intake(
            f"refused-not-a-file-{what}-is-a-directory", moved(name), f"directory {name}"
        )
        yield at_intake(
            f"refused-hard-link-{what}-has-a-second-name",
            moved(name),
            f"hardlink {name} {OTHER}",
        )
        yield at_intake(f"refused-missing-{what}-file", moved(name))
    yield from _sizes()
    yield from _contents()


def _sizes() -> Iterator[Entry]:
    files = moved(ENVELOPE)
    yield at_intake("refused-too-large-envelope", files, f"zeros {ENVELOPE} {MOST + 1}")


def _contents() -> Iterator[Entry]:
    swapped = bytes([ROW[0]]) + ROW[1:].replace(b'"none"', b'"NONE"')
    for what, data in (("swapped", swapped), ("half", ROW[:100]), ("empty", b"")):
        yield at_intake(f"refused-corrupt-observation-{what}", sent() | {FILE: data})
    # Other bytes of the right size, put under the digest before the right ones come.
    waiting = stored([canonical(REQUIREMENT)], {})
    for what, data in (("placed-in-advance", swapped), ("half-written-before", ROW[:100])):
        files = sent() | waiting | {blob(NAME): data}
        yield at_intake(f"refused-corrupt-blob-{what}", files)
    yield at_intake(
        "refused-not-a-directory-room-of-the-store-is-a-link",
        {name: data for name, data in (sent() | waiting).items() if name != blob(NAME)},
        f"link evidence/blobs/{NAME[:2]} ../pointers",
    )
