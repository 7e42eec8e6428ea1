"""Signals put off."""

import signal
import subprocess
import sys

import pytest

from cacheon.engine.host.signals import hear, put_off


class Told(BaseException):
    """A signal came."""


@pytest.fixture(autouse=True)
def _telling():
    def told(number: int, frame: object) -> None:
        raise Told

    before = signal.signal(signal.SIGTERM, told)
    yield
    signal.signal(signal.SIGTERM, before)


def test_who_asks_meanwhile_is_heard_right_after():
    done = []
    with pytest.raises(Told), put_off():
        signal.raise_signal(signal.SIGTERM)
        done.append("the rest")
    assert done == ["the rest"]
    with pytest.raises(Told):
        signal.raise_signal(signal.SIGTERM)


def test_what_is_started_meanwhile_can_hear():
    shown = "import signal; print(signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    heard = f"from cacheon.engine.host.signals import hear; hear(); {shown}"
    with put_off():
        said = [
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            for code in (shown, heard)
        ]
    assert [each.stdout.strip() for each in said] == ["True", "False"]
    hear()
