"""A hostile program's answers: it cannot forge a verdict, and gets nothing by writing into the report."""

import time

import pytest

from masgym.tools.sandbox import Answer, Limits, Ran, run_calls, run_program, same


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
