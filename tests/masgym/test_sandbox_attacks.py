"""What a hostile program gets. Its own words count for nothing: what must not happen is looked for from outside."""

import ast
import ctypes
import platform
import time
from pathlib import Path

import pytest

from masgym.tools.sandbox import Limits, Ran, run_program

HERE = Path(__file__)
LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
CALL = LIBC + "found = {call}\nif found == -1: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n"


REFUSED = {  # attack -> (program, the error that must end it)
    "reads a file of the host": ("open('/etc/passwd')", "FileNotFoundError"),
    "reads this repository": (f"open({str(HERE)!r})", "FileNotFoundError"),
    "climbs out of its root": ("open('/../../../../etc/passwd')", "FileNotFoundError"),
    "climbs by a descriptor of its root": (
        "import os\nroot = os.open('/', os.O_PATH)\nos.open('../../etc/passwd', os.O_RDONLY, dir_fd=root)",
        "FileNotFoundError",
    ),
    "follows a symbolic link": (
        "import os\nos.symlink('/etc/passwd', '/tmp/link')\nopen('/tmp/link')",
        "FileNotFoundError",
    ),
    "makes a hard link of the interpreter": ("import os, sys\nos.link(sys.executable, '/tmp/python')", "OSError"),
    "reads the memory of processes": ("open('/proc/self/mem')", "FileNotFoundError"),
    "reads the kernel's settings": ("open('/sys/kernel/notes')", "FileNotFoundError"),
    "writes into its root": ("open('/mine', 'w')", "OSError"),
    "makes a folder in its root": ("import os\nos.mkdir('/mine')", "OSError"),
    "writes into the standard library": ("import os\nopen(os.__file__, 'a')", ("OSError", "PermissionError")),
    "writes into site-packages": (
        "import os\nopen(os.path.dirname(os.__file__) + '/site-packages/mine.py', 'w')",
        ("OSError", "PermissionError", "FileNotFoundError"),
    ),
    "makes its root writable again": (CALL.format(call="libc.mount(b'', b'/', None, 32, None)"), "PermissionError"),
    "takes a root of its own": ("import os\nos.chroot('/tmp')", "PermissionError"),
    "makes a device": (
        "import os, stat\nos.mknod('/tmp/disk', stat.S_IFBLK | 0o600, os.makedev(254, 0))",
        "PermissionError",
    ),
    "becomes root": ("import os\nos.setuid(0)", ("PermissionError", "OSError")),
    "makes a namespace in which it is root": (CALL.format(call="libc.unshare(0x10000000)"), "PermissionError"),
    "clones into such a namespace": (
        CALL.format(call="libc.syscall(ctypes.c_long(56), ctypes.c_long(0x10000000 | 17), 0, 0, 0, 0)"),
        "PermissionError",
    ),
    "connects to a host": ("import socket\nsocket.create_connection(('127.0.0.1', 22), 1)", "PermissionError"),
    "sends a datagram": (
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))",
        "PermissionError",
    ),
    "speaks to the machine's hypervisor": ("import socket\nsocket.socket(socket.AF_VSOCK)", "PermissionError"),
    "asks for a name": ("import socket\nsocket.getaddrinfo('example.org', 80)", ("socket.gaierror", "OSError")),
    "starts a shell": ("import subprocess\nsubprocess.run(['/bin/sh', '-c', 'id'], check=True)", "FileNotFoundError"),
    "raises its limits": (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)",
        ("ValueError", "PermissionError"),
    ),
    "shares memory that no limit counts": (CALL.format(call="libc.shmget(0, 1 << 20, 0o1600)"), "PermissionError"),
    "makes a file in memory": ("import os\nos.memfd_create('mine')", "PermissionError"),
    "traces a process": (CALL.format(call="libc.ptrace(0, 0, 0, 0)"), "PermissionError"),
    "reads the memory of its parent": (
        CALL.format(call="libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0)"),
        "PermissionError",
    ),
    "takes descriptors of its parent": (
        CALL.format(call="libc.syscall(ctypes.c_long(434), ctypes.c_long(1), 0)"),
        "PermissionError",
    ),
    "loads a program into the kernel": (
        CALL.format(call="libc.syscall(ctypes.c_long(321), 0, 0, 0)"),
        "PermissionError",
    ),
    "lets the kernel do its input and output": (
        CALL.format(call="libc.syscall(425, 8, ctypes.create_string_buffer(200))"),
        "PermissionError",
    ),
    "takes the machine's share of asynchronous input and output": (
        CALL.format(call="libc.syscall(206, 60000, ctypes.byref(ctypes.c_ulong(0)))"),
        "PermissionError",
    ),
    "handles faults of its memory itself": (CALL.format(call="libc.syscall(323, 1)"), "PermissionError"),
    "reads the kernel's log": (CALL.format(call="libc.klogctl(10, None, 0)"), "PermissionError"),
    "calls by the kernel's second table": (CALL.format(call="libc.syscall(0x40000000 + 39)"), "PermissionError"),
    "changes its segments": (
        CALL.format(call="libc.syscall(154, 1, ctypes.create_string_buffer(16), 16)"),
        "PermissionError",
    ),
    "watches files that the host uses": (CALL.format(call="libc.inotify_init()"), "PermissionError"),
    "watches all files": (CALL.format(call="libc.fanotify_init(0x200, 0)"), "PermissionError"),
    "keeps memory in the attributes of a file": (
        "import os\nopen('a', 'w')\nos.setxattr('a', 'user.a', b'x' * 60000)",
        "PermissionError",
    ),
    "writes its input": ("import os\nos.write(0, b'x')", "OSError"),
    "resizes its input": ("import os\nos.ftruncate(0, 2**30)", "OSError"),
    "maps its input to write it": (
        "import mmap\nmmap.mmap(0, 1, mmap.MAP_SHARED, mmap.PROT_WRITE)",
        ("PermissionError", "ValueError"),
    ),
    "opens memory that the host shares": ("open('/dev/shm/mine', 'w')", "FileNotFoundError"),
    "meets others at an abstract socket": (
        "import socket\nsocket.socket(socket.AF_UNIX).bind('\\0mine')",
        "PermissionError",
    ),
    "types into the terminal": ("import fcntl, termios\nfcntl.ioctl(0, termios.TIOCSTI, b'x')", "OSError"),
    "puts itself before others": ("import os\nos.nice(-5)", "PermissionError"),
    "takes a processor for itself": (
        "import os\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        "PermissionError",
    ),
    "starts more processes than it may": (
        "import os, resource\nresource.prlimit(os.getpid(), resource.RLIMIT_NPROC, (100, 100))",
        ("ValueError", "PermissionError"),
    ),
    "makes the interpreter its own": ("import os, sys\nos.chmod(sys.executable, 0o777)", "OSError"),
    "sets the clock": ("import time\ntime.clock_settime(time.CLOCK_REALTIME, 0)", "PermissionError"),
    "renames the machine": ("import socket\nsocket.sethostname('mine')", "PermissionError"),
    "imports what the host has installed": ("import pytest", "ModuleNotFoundError"),
    "imports this package": ("import masgym", "ModuleNotFoundError"),
    "fills /tmp": ("for i in range(100):\n open(f'/tmp/{i}', 'wb').write(b'x' * 2**20)", "OSError"),
    "writes one large file": ("open('/tmp/large', 'wb').write(b'x' * 2**25)", "OSError"),
    "opens descriptors without end": ("files = [open('/dev/null') for _ in range(1000)]", "OSError"),
    "starts threads without end": (
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(1,), daemon=True).start()",
        "RuntimeError: can't start new thread",
    ),
    "recurses without end": ("def f(): f()\nf()", "RecursionError"),
    "prints an integer without end": ("print(10**100_000)", "ValueError: Exceeds the limit"),
}


@pytest.mark.parametrize("attack", REFUSED)
def test_refused(attack: str) -> None:
    program, errors = REFUSED[attack]
    _skip_elsewhere(program)
    ran = run_program(program)
    assert ran.outcome == "exception", ran
    assert ran.error.startswith(errors), ran


def _skip_elsewhere(program: str) -> None:
    """Some attacks hold numbers of calls, or code, of one kind of processor."""
    if platform.machine() != "x86_64" and ("libc.syscall(" in program or "bytes.fromhex" in program):
        pytest.skip("of x86-64")


ENDED = {  # attack -> (program, what it ends as)
    "takes memory": ("x = [bytearray(2**20) for _ in range(10**6)]", {"memory"}),
    "takes memory with a large number": ("x = 1 << 10**11", {"memory"}),
    "counts for ever": ("n = 0\nwhile True: n += 1", {"timeout"}),
    "computes a huge power": ("x = 7 ** 10**8", {"timeout"}),
    "ignores the signal of the limit": (
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
        {"killed", "timeout"},
    ),
    "catches every exception": (
        "while True:\n try:\n  while True: pass\n except BaseException: pass",
        {"timeout"},
    ),
    "sleeps": ("import time\ntime.sleep(100)", {"timeout"}),
    "stops itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", {"timeout"}),
    "waits for a thread that does not end": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(100,)).start()",
        {"timeout"},
    ),
    "floods its output": ("while True: print('x' * 1000)", {"output limit"}),
    "floods its errors": ("import sys\nwhile True: print('x' * 1000, file=sys.stderr)", {"output limit"}),
    "overflows its stack": (
        "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n def __repr__(self): return repr(self)\nrepr(A())",
        {"killed", "memory"},
    ),
    "kills its group": ("import os\nos.killpg(0, 9)", {"killed"}),
    "calls the kernel as a program of 32 bits": (
        LIBC + "import mmap\nroom = mmap.mmap(-1, 4096, prot=7)\nroom.write(bytes.fromhex('b814000000cd80c3'))\n"
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(room)))()",
        {"killed"},
    ),
    "writes to address 0": ("import ctypes\nctypes.memset(0, 0, 1)", {"killed"}),
}


SLEEPERS = {"sleeps", "stops itself", "waits for a thread that does not end"}


@pytest.mark.parametrize("attack", ENDED)
def test_ended(attack: str) -> None:
    program, outcomes = ENDED[attack]
    _skip_elsewhere(program)
    ran = run_program(program, limits=Limits(cpu=1, wall=2 if attack in SLEEPERS else 30))
    assert ran.outcome in outcomes, ran
    assert len(ran.stdout) < 2**19


def test_the_attacks_are_real() -> None:
    """Where nothing is isolated, the harmless ones among them succeed."""
    for attack in (
        "reads a file of the host",
        "reads this repository",
        "climbs out of its root",
        "follows a symbolic link",
    ):
        program = REFUSED[attack][0].replace("/tmp/link", "link")
        assert run_program(program, backend="unsafe").outcome == "ok", attack
    for attack in (
        "reads the memory of processes",
        "makes a file in memory",
        "shares memory that no limit counts",
        "watches files that the host uses",
    ):
        assert run_program(REFUSED[attack][0], backend="unsafe").outcome == "ok", attack


FORKS = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made)
"""


@pytest.mark.parametrize("processes", [1, 4])
def test_a_fork_bomb_ends_at_the_limit(processes: int) -> None:
    """As root too: the kernel's limit does not bind root, so the program must not be root."""
    assert run_program(FORKS, limits=Limits(processes=processes)).stdout == f"{processes - 1}\n"


def test_its_group_holds_nobody_but_itself() -> None:
    """A signal to one's group does not stop at namespaces."""
    program = "import os, signal\nsignal.signal(15, signal.SIG_IGN)\nos.killpg(0, 15)\nos.kill(0, 15)\nprint('alone')"
    assert run_program(program) == Ran(outcome="ok", stdout="alone\n", error="")


def test_a_fork_bomb_that_goes_on_ends_in_time() -> None:
    program = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    assert run_program(program, limits=Limits(cpu=1, wall=3)).outcome == "timeout"


ORPHAN = f"""{LIBC}
import time
libc.prctl(15, b'NAME', 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(0)
        time.sleep(60)
    os._exit(0)
os.wait()
print('gone')
"""


def test_a_process_left_behind_ends_with_the_run() -> None:
    name = f"left{time.time_ns() % 10**9}"  # 15 characters at most, so that it fits a process's name
    program = ORPHAN.replace("NAME", name)
    assert _alive(name) == []
    start = time.monotonic()
    ran = run_program(program, limits=Limits(wall=60))
    assert (ran.outcome, ran.stdout) == ("ok", "gone\n")
    assert time.monotonic() - start < 40  # the orphan holds stdout open, and nobody waits for it
    deadline = time.monotonic() + 5
    while _alive(name) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _alive(name) == []


def _alive(name: str) -> list[str]:
    found = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            found += [str(comm)] if comm.read_text().strip() == name else []
        except OSError:  # it has ended meanwhile
            continue
    return found


def test_fault_8_nothing_that_a_model_writes_is_evaluated_outside_the_sandbox() -> None:
    """Method, section 6: eval() on model output. Only what runs inside the sandbox may evaluate a program."""
    inside = {"masgym/tools/child.py", "masgym/domains/code/harness.py"}
    root = HERE.parents[2]
    found = {
        str(path.relative_to(root))
        for package in ("masgym", "mastrain")
        for path in (root / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec")
    }
    assert "masgym/tools/child.py" in found
    assert found <= inside


def test_libc_of_the_attacks_is_there() -> None:
    """Else the attacks through ctypes would be refused for want of a library."""
    assert ctypes.CDLL(None)
    assert run_program(LIBC + "print(libc.getpid() > 0)").stdout == "True\n"
