"""The bundles that are shipped with the package."""

from pathlib import Path

import cacheon

EXAMPLES = Path(cacheon.__file__).parent / "examples"
"""`good` and `broken` hold one directory a bundle."""


def good_example(slot: str, flavour: str = "torch") -> Path | None:
    """The directory of a slot's good example, `torch_decode` for attention.decode; None
    where none is shipped. The torch ones are the controls of an examination too."""
    root = EXAMPLES / "good" / f"{flavour}_{slot.partition('.')[2]}"
    return root if (root / "manifest.toml").is_file() else None
