"""What a bundle's source may not name: dotted names, and files of the process."""

import re

_NAMES: dict[str, tuple[str, str]] = {
    "CG902": (
        "leaves the process",
        "os._exit os.abort sys.exit builtins.exit builtins.quit signal.raise_signal",
    ),
    "CG904": (
        "starts a process",
        "subprocess os.fork os.forkpty os.system os.popen os.posix_spawn os.posix_spawnp "
        "os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp "
        "os.spawnvpe os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp "
        "os.execlpe multiprocessing concurrent.futures.ProcessPoolExecutor pty "
        "asyncio.create_subprocess_exec asyncio.create_subprocess_shell torch.multiprocessing",
    ),
    "CG905": (
        "reaches into the examination",
        "sys._getframe sys._current_frames sys.settrace sys.setprofile inspect.currentframe "
        "inspect.stack inspect.getouterframes inspect.trace gc.get_objects gc.get_referrers "
        "gc.get_referents gc.freeze gc.callbacks cacheon threading.Thread threading.Timer "
        "threading.settrace threading.setprofile _thread unittest.mock ptrace os.ptrace "
        "process_vm_readv os.kill os.killpg signal.pthread_kill "
        "concurrent.futures.ThreadPoolExecutor concurrent.futures.thread asyncio.to_thread "
        "torch.utils._python_dispatch.TorchDispatchMode torch.overrides.TorchFunctionMode",
    ),
    "CG906": (
        "uses the network",
        "socket socketserver urllib.request http.client http.server ftplib smtplib telnetlib "
        "xmlrpc requests httpx aiohttp urllib3 websockets paramiko torch.hub "
        "asyncio.open_connection asyncio.open_unix_connection asyncio.start_server "
        "asyncio.start_unix_server",
    ),
    "CG907": (
        "runs code that is not in the source",
        "builtins.exec builtins.eval builtins.compile importlib.util.spec_from_file_location "
        "importlib.util.module_from_spec importlib.machinery "
        "importlib.reload imp runpy code codeop types.FunctionType types.CodeType zipimport "
        "marshal ctypes.CDLL ctypes.cdll ctypes.PyDLL ctypes.pythonapi cffi "
        "torch.ops.load_library torch.classes.load_library",
    ),
    "CG908": (
        "unpickles",
        "pickle cPickle _pickle dill cloudpickle joblib shelve torch.load "
        "torch.serialization.load torch.jit.load torch.package",
    ),
    "CG909": ("reads the environment", "os.environ os.getenv os.environb os.getenvb os.putenv"),
}
TABLE = {name: (rule, what) for rule, (what, names) in _NAMES.items() for name in names.split()}
BUILTINS = frozenset("exec eval compile exit quit __import__ setattr getattr vars delattr".split())
FRAMES = frozenset("tb_frame f_back f_locals f_globals gi_frame cr_frame ag_frame".split())
"""Attributes that lead to the frames of whoever calls, whatever they are read from."""
_MEMORY = re.compile(r"/proc/[^/]+/(task/[^/]+/)?(mem|maps|smaps|fd|map_files)(/.*)?")
OWNED = ("torch", "triton", "builtins", "sys", "os", "gc", "numpy", "importlib")
_SETTINGS = ("torch.backends", "torch._dynamo.config", "torch._inductor.config")


def entry_of(dotted: str) -> tuple[str, str] | None:
    """The rule, and what is wrong, of a dotted name that begins with a forbidden one."""
    parts = dotted.split(".")
    if parts[0] == "posix":
        # What `os` is made of.
        parts[0] = "os"
    for length in range(len(parts), 0, -1):
        found = TABLE.get(".".join(parts[:length]))
        if found is not None:
            return found
    return None


def is_owned(owner: str) -> bool:
    """Whether nobody but its author may change what this leads to."""
    head = owner.partition(".")[0]
    settings = owner.startswith((*_SETTINGS, "os.environ"))
    return head in OWNED and not settings and owner != "sys.path"


def is_memory(path: str) -> bool:
    """Whether a path leads to a process's memory, or to what it has open."""
    return _MEMORY.fullmatch(path) is not None
