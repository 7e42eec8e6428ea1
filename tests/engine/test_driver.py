"""The driver's version, from the kernel or from the library."""

from pathlib import Path
from typing import Any

import pytest

from cacheon.engine import driver

CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan  2 20:02:03 UTC 2025\n"
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95  Release Build  (x)\nGCC 13\n"
)


class Library:
    def cuDriverGetVersion(self, number: Any) -> int:
        number._obj.value = 13000
        return 0


@pytest.mark.parametrize(("text", "version"), [(CLOSED, "570.86.15"), (OPEN, "580.95")])
def test_the_kernel_is_asked_first(
    text: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "version").write_text(text)
    monkeypatch.setattr(driver, "_KERNEL", tmp_path / "version")
    assert driver.installed_version() == version


@pytest.mark.parametrize("text", [None, "something else\n"])
def test_the_library_is_asked_where_the_kernel_does_not_say(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / "version").write_text(text)
    monkeypatch.setattr(driver, "_KERNEL", tmp_path / "version")
    monkeypatch.setattr(driver, "_library", Library)
    assert driver.installed_version() == "CUDA 13.0"
