"""What the kernel is asked about processes, each in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.engine.host.guests import alive, gone, put_away

from cacheon.engine import processes

SOURCE = str(Path(processes.__file__).parents[2])


def started(script: str) -> "subprocess.Popen[str]":
    """A bare interpreter that runs a script and then waits to be told to go on."""
    prelude = f"import os, sys, time\nsys.path.insert(0, {SOURCE!r})\n"
    return subprocess.Popen(
        [sys.executable, "-c", f"{prelude}from cacheon.engine import processes\n{script}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def over(process: "subprocess.Popen[str]") -> int:
    process.communicate()
    return process.returncode


# --- looking -------------------------------------------------------------------------------------


def test_this_process_is_seen_as_it_is() -> None:
    seen = processes.look(os.getpid())
    assert seen is not None
    assert seen.state in "RS"
    assert (seen.parent, seen.session) == (os.getppid(), os.getsid(0))
    assert "python" in seen.command or "pytest" in seen.command


def test_a_process_that_is_gone_is_none() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert processes.look(process.pid) is None


def test_a_name_with_parentheses_and_numbers_confuses_nobody(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 2 (b"
    odd.symlink_to(Path("/bin/sleep").resolve())
    with subprocess.Popen([str(odd), "1000"], start_new_session=True) as process:
        # Its command line comes a moment after it.
        while not (seen := processes.look(process.pid)) or not seen.command:
            time.sleep(0.001)
        process.kill()
    assert seen is not None
    assert (seen.parent, seen.session) == (os.getpid(), process.pid)
    assert seen.command.endswith("1000 ")


def test_children_are_direct_and_zombies_count() -> None:
    process = started(
        "dead, living = os.fork(), 0\n"
        "if not dead: os._exit(0)\n"
        "living = os.fork()\n"
        "if not living:\n"
        "    grand = os.fork()\n"
        "    time.sleep(1000)\n"
        "while processes.look(dead).state != 'Z': time.sleep(0.01)\n"
        "found = processes.children(os.getpid())\n"
        "direct = sorted(found) == sorted([dead, living])\n"
        "print(direct, processes.look(dead).command == '', flush=True)\n"
        "os.killpg(0, 9)\n"
    )
    assert said(process) == "True True"
    over(process)


# --- belonging -----------------------------------------------------------------------------------


def test_a_subreaper_inherits_orphans() -> None:
    process = started(
        "processes.become_subreaper()\n"
        "if not (child := os.fork()):\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    time.sleep(1000)\n"
        "os.waitpid(child, 0)\n"
        "orphan, = processes.children(os.getpid())\n"
        "print(orphan)\n"
        "os.kill(orphan, 9)\n"
        "print(os.waitpid(orphan, 0)[0] == orphan)\n"
    )
    orphan = int(said(process))
    assert said(process) == "True"
    assert over(process) == 0
    assert not alive(orphan)


@pytest.mark.parametrize("bound", [True, False])
def test_a_child_dies_with_its_parent_where_it_asked_for_it(bound: bool) -> None:
    process = started(
        "if not (child := os.fork()):\n"
        f"    if {bound}: processes.die_with_parent()\n"
        "    os.close(0); os.close(1)\n"
        "    time.sleep(1000)\n"
        "time.sleep(0.2)\n"
        "print(child, flush=True)\n"
        "sys.stdin.read()\n"
    )
    child = int(said(process))
    assert alive(child)
    process.kill()
    over(process)
    try:
        assert gone(child, 10.0 if bound else 0.3) is bound
    finally:
        put_away(child)


def test_the_bond_is_not_inherited() -> None:
    process = started(
        "processes.die_with_parent()\n"
        "if not (child := os.fork()):\n"
        "    os.close(0); os.close(1)\n"
        "    time.sleep(1000)\n"
        "print(child, flush=True)\n"
    )
    child = int(said(process))
    assert over(process) == 0
    try:
        assert not gone(child, 0.3)
    finally:
        put_away(child)


# --- what others can see of a process ------------------------------------------------------------


def test_hidden_memory_belongs_to_root_and_leaves_no_core() -> None:
    process = started(
        "import resource\n"
        "processes.hide_memory()\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE), flush=True)\n"
        "sys.stdin.read()\n"
    )
    assert said(process) == "(0, 0)"
    # The kernel gives the files of a process that cannot be dumped to root.
    assert os.stat(f"/proc/{process.pid}/mem").st_uid == 0
    if os.getuid() != 0:
        with pytest.raises(PermissionError):
            Path(f"/proc/{process.pid}/mem").read_bytes()
    process.send_signal(signal.SIGABRT)
    assert over(process) == -signal.SIGABRT


def test_a_process_is_hidden_only_if_it_asked_for_it() -> None:
    dumpable = (
        "import ctypes\n"
        "ask = ctypes.CDLL(None).prctl\n"
        "before = ask(3, 0, 0, 0, 0)\n"
        "processes.hide_memory()\n"
        "print(before, ask(3, 0, 0, 0, 0), flush=True)\n"
    )
    process = started(dumpable)
    assert said(process) == "1 0"
    over(process)


def test_memory_is_shown_again_where_it_was_shown_before() -> None:
    process = started(
        "print(processes.set_dumpable(False), processes.set_dumpable(True),"
        " processes.set_dumpable(True), flush=True)\n"
    )
    assert said(process) == "True False True"
    over(process)


def test_privileges_are_given_up_for_good() -> None:
    process = started(
        "import subprocess\n"
        "processes.give_up_privileges()\n"
        "processes.give_up_privileges()\n"
        "show = lambda text: [line.split()[1] for line in text.splitlines()"
        " if line.startswith(('CapInh', 'CapPrm', 'CapEff', 'CapAmb', 'NoNew'))]\n"
        "own = show(open('/proc/self/status').read())\n"
        "run = subprocess.run(['cat', '/proc/self/status'], capture_output=True, text=True)\n"
        "print({*own[:4], *show(run.stdout)[:4]}, own[4:], flush=True)\n"
    )
    assert said(process) == "{'0000000000000000'} ['1']"
    over(process)


def test_limits_of_others_are_left_alone() -> None:
    process = started(
        "import resource\n"
        "processes.give_up_privileges()\n"
        "processes.leave_limits_of_others_alone()\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 60))\n"
        "print(resource.prlimit(0, resource.RLIMIT_NOFILE), flush=True)\n"
        "try:\n"
        "    resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0))\n"
        "except PermissionError:\n"
        "    print('refused', flush=True)\n"
    )
    assert said(process) == "(50, 60)"
    assert said(process) == "refused"
    assert over(process) == 0


def test_one_without_privileges_reaches_into_none_that_hides() -> None:
    hidden = started("processes.hide_memory()\nprint('up', flush=True)\nsys.stdin.read()\n")
    assert said(hidden) == "up"
    process = started(
        "import ctypes\n"
        "processes.give_up_privileges()\n"
        f"number = {hidden.pid}\n"
        "library = ctypes.CDLL(None, use_errno=True)\n"
        "taken = library.syscall(438, os.pidfd_open(number), 0, 0)\n"
        "attached = library.ptrace(0x4206, number, None, None)\n"
        "try:\n"
        "    open(f'/proc/{number}/mem', 'rb')\n"
        "except PermissionError:\n"
        "    print(taken, attached, 'refused', flush=True)\n"
    )
    assert said(process) == "-1 -1 refused"
    assert (over(process), over(hidden)) == (0, 0)


def test_descriptors_are_closed_from_a_number_up() -> None:
    process = started(
        "kept = [os.dup(0) for _ in range(20)]\n"
        "os.dup2(0, 700)\n"
        "processes.close_descriptors_from(5)\n"
        "left = [n for n in range(1000) if os.path.exists(f'/proc/self/fd/{n}')]\n"
        "processes.close_descriptors_from(5)\n"
        "print(left, flush=True)\n"
    )
    assert said(process) == "[0, 1, 2, 3, 4]"
    over(process)


def test_a_call_that_the_kernel_refuses_is_an_error() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        processes._prctl(999, 0)
