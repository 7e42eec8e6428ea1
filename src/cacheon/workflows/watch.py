"""`verify --watch`: again on every save, with the zygote kept warm."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from cacheon.engine.host.examination import Examination
from cacheon.engine.outcome import RunOutcome
from cacheon.workflows.options import Options
from cacheon.workflows.verify import examine_all, settings_for


def watch_bundles(
    bundles: Sequence[Path], options: Options, show: Callable[[RunOutcome], None]
) -> int:
    """Examine, show, wait for a save, and again, until interrupted; the last exit code.

    Every turn draws a fresh seed unless one was given."""
    from watchfiles import watch

    settings = settings_for(options)
    code = 0
    with Examination(settings) as examination:
        run = examine_all(bundles, options, settings, examination)
        show(run)
        code = run.exit_code
        directories = [path for path in bundles if path.is_dir()]
        for _ in watch(*directories, raise_interrupt=False):
            fresh = settings_for(options).seed
            turn = msgspec.structs.replace(settings, seed=fresh)
            examination.reseed(turn)
            run = examine_all(bundles, options, turn, examination)
            show(run)
            code = run.exit_code
    return code
