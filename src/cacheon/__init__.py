"""cacheon: prove that a kernel keeps its contract when its launches are frozen in a CUDA graph."""

__version__ = "0.1.0"
