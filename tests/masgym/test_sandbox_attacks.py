"""What a hostile program gets. Its own words count for nothing: what must not happen is looked for from outside."""

import ast
import ctypes
import os
import platform
import socket
import time
from pathlib import Path

import pytest

from masgym.tools.sandbox import Answer, Limits, Ran, run_calls, run_program, same

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


def test_the_root_holds_nothing_but_the_interpreter() -> None:
    ran = run_program("import os; print(sorted(os.listdir('/')), os.listdir('/tmp'), sorted(os.listdir('/dev')))")
    found, tmp, devices = map(ast.literal_eval, ran.stdout.replace("] [", "]\n[").splitlines())
    allowed = {"dev", "lib", "lib64", "tmp", "usr", Path(os.path.realpath("/proc/self/exe")).parts[1]}
    assert set(found) <= allowed
    assert (tmp, devices) == ([], ["null", "urandom"])


def test_namespaces_and_user_are_its_own() -> None:
    ran = run_program("import os; print(os.getpid(), os.getppid(), os.getuid() != 0, os.uname().nodename)")
    assert ran.stdout == "2 1 True sandbox\n"
    ran = run_program("import socket; print([name for _, name in socket.if_nameindex()])")
    assert ran.outcome == "exception" or ran.stdout == "['lo']\n"


def test_what_it_writes_is_on_no_disk_of_the_host_and_gone_in_the_next_run() -> None:
    name = f"masgym-{os.getpid()}-{time.time_ns()}"
    leave = f"import os\nopen('/tmp/{name}', 'w').write('x')\nos.symlink('/', '/tmp/{name}-link')\n"
    assert name in run_program(leave + "print(os.listdir('/tmp'))").stdout
    assert not Path("/tmp", name).exists()
    assert run_program("import os; print(os.listdir('/tmp'))").stdout == "[]\n"


def test_the_environment_of_the_host_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret-of-the-host")
    ran = run_program("import os; print(dict(os.environ), os.uname().nodename, os.getcwd())")
    assert "secret-of-the-host" not in ran.stdout
    assert ran.stdout.endswith(" sandbox /tmp\n")


def test_descriptors_of_the_host_are_not_inherited(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret of the host")
    fd = os.open(secret, os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        program = "import os\nfor fd in range(256):\n try: print(fd, os.fstat(fd).st_mode)\n except OSError: pass"
        seen = [int(line.split()[0]) for line in run_program(program).stdout.splitlines()]
    finally:
        os.close(fd)
    assert seen[:3] == [0, 1, 2]
    assert len(seen) == 4  # and the report's


def test_a_server_on_the_host_hears_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        port = server.getsockname()[1]
        program = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1).send(b'x')"
        assert run_program(program).outcome == "exception"
        with pytest.raises(TimeoutError):
            server.accept()
        assert run_program(program, backend="unsafe").outcome == "ok"  # the attack is real
        server.accept()[0].close()


def test_signals_reach_nobody_outside() -> None:
    program = (
        "import os\nfor pid in {pids}:\n for number in (9, 15):\n  try: os.kill(pid, number)\n"
        "  except OSError as error: print(type(error).__name__)\nprint('done')"
    )
    ran = run_program(program.replace("{pids}", str([os.getpid(), os.getppid(), 1])))
    assert ran.stdout.splitlines()[-1] == "done"
    assert ran.stdout.count("ProcessLookupError") >= 2
    assert run_program("import os\nos.kill(-1, 9)\nprint('alone')").outcome in ("ok", "exception")
    assert run_program("import os\nos.kill(os.getppid(), 9)\nprint('alive')").outcome in ("ok", "killed")


def test_the_first_process_of_the_sandbox_cannot_be_stopped() -> None:
    """It is bwrap, and ends the others."""
    program = "import os, signal\nfor s in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGKILL): os.kill(1, s)\nprint('on')"
    ran = run_program(program)
    assert (ran.outcome, ran.stdout) == ("ok", "on\n")


def test_a_program_that_replaces_itself_keeps_its_limits_and_its_filter() -> None:
    then = (
        "import os, resource, socket\nprint(os.getuid(), resource.getrlimit(resource.RLIMIT_AS), len(os.environ))\n"
        "try: socket.socket()\nexcept PermissionError: print('refused')"
    )
    program = (
        f"import os, sys\nwords = [sys.executable, '-S', '-c', {then!r}] + ['x' * 100_000] * 15\n"
        "os.execve(sys.executable, words, {'A': 'x' * 100_000})"
    )
    ran = run_program(program, limits=Limits(memory=300 * 2**20))
    assert ran.stdout == f"{os.getuid() or 65534} ({300 * 2**20}, {300 * 2**20}) 1\nrefused\n", ran


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


def test_threads_and_exit_handlers_do_not_delay_answers() -> None:
    program = (
        "import atexit, threading, time\natexit.register(time.sleep, 60)\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\ndef f(x): return x"
    )
    start = time.monotonic()
    assert run_calls(program, "f", [[1]])[0].value == 1
    assert time.monotonic() - start < 25


def test_output_that_is_no_text_is_replaced() -> None:
    ran = run_program("import os; os.write(1, b'a\\xff\\xfeb\\xed\\xa0\\x80\\x00')")
    assert ran == Ran(outcome="ok", stdout="a��b���\x00", error="")
    assert run_program("print('\\ud800')").error.startswith("UnicodeEncodeError")


TO_REPORT = """
import os
def to_report(text):
    for fd in range(3, 256):
        try: os.write(fd, text)
        except OSError: pass
"""
FORGED = {  # what a program writes to the report itself -> what it gets for it
    "an answer": (b'["ok", 41]\n', Answer(outcome="ok", value=41, error="")),
    "a verdict": (b'{"passed": true}\n', "its answer was no JSON value"),
    "no JSON": (b"passed\n", "its answer was no JSON value"),
    "half a line": (b'["ok", 41]', "it ended before it answered"),
    "no UTF-8": (b'\xff\xfe["ok", 41]\n', "its answer was no JSON value"),
    "levels without end": (b"[" * 20_000 + b"\n", "its answer was no JSON value"),
    "many levels": (b'["ok", ' + b"[" * 500 + b"]" * 501 + b"\n", "its answer was no JSON value"),
    "an integer without end": (b'["ok", ' + b"9" * 10_000 + b"]\n", "its answer was no JSON value"),
    "another kind": (b'["passed", 41]\n', "its answer was no JSON value"),
    "too many parts": (b'["ok", 41, 42]\n', "its answer was no JSON value"),
    "a lone surrogate": (b'["ok", "\\ud800"]\n', Answer(outcome="ok", value="?", error="")),
    "nothing": (b"", "it ended before it answered"),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_report_is_an_answer_at_best(forgery: str) -> None:
    line, expected = FORGED[forgery]
    program = f"{TO_REPORT}to_report({line!r})\nos._exit(0)\ndef f(): pass"
    (answer,) = run_calls(program, "f", [[]])
    if isinstance(expected, Answer):
        assert answer == expected
    else:
        assert (answer.outcome in ("exception", "killed"), answer.value, answer.error) == (True, None, expected)


def test_a_flooded_report_meets_the_limit_of_output() -> None:
    program = f"{TO_REPORT}def f():\n while True: to_report(b'x' * 10000)"
    assert run_calls(program, "f", [[]])[0].outcome == "output limit"
    assert run_calls("def f(): return 'x' * 10**6", "f", [[]])[0].outcome == "output limit"


def test_calls_do_not_see_each_other_s_arguments_change() -> None:
    answers = run_calls("def f(xs):\n xs.append(1)\n return xs", "f", [[[0]], [[0]]])
    assert [a.value for a in answers] == [[0, 1], [0, 1]]


PATCHES = """
import builtins, sys, os
builtins.isinstance = lambda *_: True
builtins.str = builtins.repr = builtins.type = lambda *_: 'passed'
builtins.all = lambda *_: True
main = sys.modules['__main__']
for name in ('json', 'failed', 'called', 'send'):
    setattr(main, name, lambda *_: '["ok", "passed"]')
def f(): return 1
"""


def test_patched_builtins_change_only_the_program_s_own_answers() -> None:
    (answer,) = run_calls(PATCHES, "f", [[]])
    assert not (answer.outcome == "ok" and same(2, answer.value))
    (honest,) = run_calls("def f(): return 2", "f", [[]])
    assert same(2, honest.value)


EQUAL = "class Any({base}):\n def __eq__(self, other): return True\n def __len__(self): return 1\n __hash__ = None\n"
CHEATS = {
    "an object equal to everything": EQUAL.format(base="object") + "def f(): return Any()",
    "a number equal to everything": EQUAL.format(base="int") + "def f(): return Any(41)",
    "a text equal to everything": EQUAL.format(base="str") + "def f(): return Any('x')",
    "a list equal to everything": EQUAL.format(base="list") + "def f(): return Any()",
    "it says that it passed": "print('PASSED')\nprint('1 passed, 0 failed')\ndef f(): return 'PASSED'",
    "it exits before it is judged": "import os\ndef f(): os._exit(0)",
    "it raises the exit that means success": "def f(): raise SystemExit(0)",
    "it answers for the runner": TO_REPORT + "def f():\n to_report(b'[\"ok\", true]\\n')\n os._exit(0)",
    "the right value of another type": "def f(): return 42.0",
    "the right value as a text": "def f(): return '42'",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_fault_14_a_program_cannot_forge_its_verdict(cheat: str) -> None:
    """Method, section 6: an object whose __eq__ returned True passed the tests; a child process forged its verdict."""
    (answer,) = run_calls(CHEATS[cheat], "f", [[]])
    assert not (answer.outcome == "ok" and same(42, answer.value)), answer
    assert type(answer.value) in (type(None), bool, int, float, str, list, dict)


def test_the_expected_value_is_nowhere_in_the_program_s_reach() -> None:
    program = (
        "import gc, sys\ndef f():\n frame, seen = sys._getframe(), []\n while frame:\n"
        "  seen += [repr(frame.f_locals), repr(frame.f_globals)]\n  frame = frame.f_back\n"
        " return [text for text in seen + [repr(o) for o in gc.get_objects()] if NEEDLE in text][:1]"
    )
    expected = f"expected-{time.time_ns()}"
    (answer,) = run_calls(program.replace("NEEDLE", f"'ex' + {expected[2:]!r}"), "f", [[]], limits=Limits(output=2**20))
    assert (answer.outcome, answer.value) == ("ok", [])


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
