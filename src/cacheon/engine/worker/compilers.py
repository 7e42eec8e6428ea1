"""Which compilers run beside the candidate, said by the compilers themselves."""

import importlib.util
from typing import Any


class Compilers:
    """Kinds of compilation since they were last asked for."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def listen(self) -> None:
        """From now on. What came out of a cache was compiled before and is none."""
        if importlib.util.find_spec("triton") is None:
            return
        from triton import knobs

        knobs.compilation.listener = self._on_triton

    def told(self) -> tuple[str, ...]:
        """What ran since the last time, sorted."""
        seen, self._seen = self._seen, set()
        return tuple(sorted(seen))

    def _on_triton(self, *, cache_hit: bool, **_: Any) -> None:
        if not cache_hit:
            self._seen.add("triton")
