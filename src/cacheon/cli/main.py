"""The door: finds the verb, turns errors into one line and an exit code."""

import contextlib
import errno
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence

import click

import cacheon
from cacheon.cli.writing import unheard
from cacheon.records.errors import CacheonError, one_line

VERBS = (
    "verify",
    "scan",
    "slots",
    "init",
    "explain",
    "doctor",
    "arena",
    "launch",
    "require",
    "observe",
    "qualify",
    "keys",
    "ls",
    "show",
    "fsck",
    "sweep",
    "intake",
    "grade",
    "audit",
    "log",
    "export",
)
_INTERRUPTED, _PIPE_CLOSED = 130, 141
"""128 and the signal's number, as a shell says it."""
_UNUSABLE, _NO_DECISION = 2, 3
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a standard output says that takes nothing more."""


class _Told(BaseException):
    """A signal that asks this process to end."""

    def __init__(self, signal: int) -> None:
        super().__init__()
        self.signal = signal


@contextlib.contextmanager
def _leaving_tidily() -> Iterator[None]:
    """What a verb has made it removes when it is asked to end, as it does for control-C."""

    def told(number: int, frame: object) -> None:
        raise _Told(number)

    asking = (signal.SIGTERM, signal.SIGHUP)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(number, told) for number in asking]
    try:
        yield
    finally:
        for number, handler in zip(asking, before, strict=True):
            signal.signal(number, handler)


class Verbs(click.Group):
    """Each verb is a module of its own, loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"cacheon.cli.{cmd_name}").command
        return command


@click.command(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `cacheon slots`, then `cacheon init SLOT DIR` and `cacheon verify DIR`.",
)
@click.version_option(cacheon.__version__, prog_name="cacheon")
def main() -> None:
    """Prove that a kernel keeps computing its contract when its Python is frozen and only
    device work replays."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; its exit code. No traceback reaches a person unasked."""
    _fill_descriptors()
    if sys.stdout is None:
        return _say("standard output: expected an open stream, got a closed one", _UNUSABLE)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its escape, not an exception.
            stream.reconfigure(errors="backslashreplace")
    try:
        with _leaving_tidily():
            code = main.main(
                args=list(arguments) if arguments is not None else None,
                prog_name="cacheon",
                standalone_mode=False,
            )
        return int(code or 0)
    except _Told as told:
        return _say("terminated", 128 + told.signal)
    except CacheonError as error:
        return _say(error.message, error.exit_code, error.page)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _say("interrupted", _INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        # A page and no line: whoever says a bare `cacheon` wants to be told the verbs.
        click.echo(error.format_message(), err=True)
        return _UNUSABLE
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f" (see `{context.command_path} --help`)" if context else ""
        return _say(one_line(error.format_message()) + hint, _UNUSABLE)
    except SystemExit:
        # click's way out where the reader of a pipe has gone; its status, 1, would say that
        # a candidate failed. Nothing of ours leaves so.
        return _PIPE_CLOSED
    except OSError as error:
        # click writes help by itself; whatever else concerns a file names it.
        if error.errno not in _FULL or error.filename is not None:
            return _fault(error)
        return _say(unheard(error).message, _NO_DECISION)
    except Exception as error:
        return _fault(error)


def _fault(error: Exception) -> int:
    """A fault of ours decides nothing: Python's own status for a traceback is 1, which says
    that a candidate failed."""
    if os.environ.get("CACHEON_TRACEBACK"):
        raise error
    cause = one_line(f"{type(error).__name__}: {error}")
    return _say(f"internal error: {cause} (CACHEON_TRACEBACK=1 shows where)", _NO_DECISION)


def _fill_descriptors() -> None:
    """A standard stream that is closed leaves its number to the next file that is opened,
    which whoever inherits it would write to: `/dev/null` takes it."""
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
            break
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False))


def _say(line: str, code: int, page: str = "") -> int:
    """One line on standard error, and the exit code."""
    click.echo(f"cacheon: {line}" + (f" (see {page})" if page else ""), err=True)
    return code
