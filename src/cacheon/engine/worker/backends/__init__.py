"""How a call is captured and replayed: on CUDA, or rehearsed on a CPU."""

from cacheon.engine.worker.backends.port import Backend


def choose(*, on_cpu: bool) -> Backend:
    """The backend of this process."""
    if on_cpu:
        from cacheon.engine.worker.backends.rehearsal import Rehearsal

        return Rehearsal()
    from cacheon.engine.worker.backends.cuda import Cuda

    return Cuda()
