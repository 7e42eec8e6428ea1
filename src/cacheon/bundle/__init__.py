"""What is submitted: manifest, metadata, the tree's identity, a private snapshot."""

from cacheon.bundle.manifest import open_bundle
from cacheon.bundle.model import Bundle, FileEntry, Variant
from cacheon.bundle.snapshot import take_snapshot

__all__ = ["Bundle", "FileEntry", "Variant", "open_bundle", "take_snapshot"]
