"""How a call is captured and replayed: on CUDA, or rehearsed on a CPU."""

from cacheon.engine.worker.backends.port import Backend


def choose(*, on_cpu: bool, descriptor: int = -1) -> Backend:
    """The backend of this process. On a CPU, `descriptor` is the memfd to map, -1 where
    nobody else shares the slab."""
    if on_cpu:
        from cacheon.engine.worker.backends.rehearsal import Rehearsal

        return Rehearsal(descriptor)
    from cacheon.engine.worker.backends.cuda import Cuda

    return Cuda()
