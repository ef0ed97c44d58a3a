"""What a hostile program sees of the machine, and whom it reaches there."""

import ast
import os
import socket
import time
from pathlib import Path

import pytest

from masgym.tools.sandbox import Limits, run_program


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
