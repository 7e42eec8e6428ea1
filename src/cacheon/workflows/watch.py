"""`verify --watch`: again on every save, with the zygote kept warm."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from cacheon.engine.host.examination import Examination
from cacheon.engine.outcome import RunOutcome
from cacheon.engine.request import Progress
from cacheon.records.errors import InputError
from cacheon.workflows.opening import opened
from cacheon.workflows.options import Options
from cacheon.workflows.verify import Start, examine_all, settings_for


def watch_bundles(
    paths: Sequence[Path],
    options: Options,
    show: Callable[[RunOutcome], None],
    watch: Callable[[Progress], None],
    *,
    start: Start = Examination,
    saves: Callable[[Sequence[Path]], Iterable[object]] | None = None,
) -> int:
    """Examine, show, wait for a save, and again, until interrupted; the last exit code.

    A bundle that a save left unusable is shown as such, and the next save is waited for.
    Every turn draws a fresh seed unless one was given. `saves` yields once for each save.
    Raises CacheonError for what concerns the command as a whole."""
    for path in paths:
        if not path.is_dir():
            raise InputError(file=str(path), expected="a bundle directory", got="nothing to watch")
    settings = settings_for(options)
    with start(settings, watch) as examiner:
        with opened(paths, options) as bundles:
            run = examine_all(bundles, options, settings, examiner)
        show(run)
        for _ in (saves or _saves)(paths):
            fresh = msgspec.structs.replace(settings, seed=settings_for(options).seed)
            examiner.reseed(fresh)
            with opened(paths, options) as bundles:
                run = examine_all(bundles, options, fresh, examiner)
            show(run)
    return run.exit_code


def _saves(paths: Sequence[Path]) -> Iterator[object]:
    # Loaded only where somebody watches.
    from watchfiles import watch

    # It would say on its own that it was interrupted: that is how one leaves.
    with contextlib.suppress(KeyboardInterrupt):
        yield from watch(*paths, raise_interrupt=True)
