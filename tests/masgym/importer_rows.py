"""Rows in the forms of public data sets, made for the tests of the importers; writing, importing and playing them."""

import base64
import json
import pickle
import zlib

from masgym.importers import import_set
from masgym.tasks import SPLITS
from masgym.tools.driver import default_driver, step_sync

ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
SUBTRACT = "a, b = map(int, input().split())\nprint(a - b)\n"
PYTHON_2 = "a, b = map(int, raw_input().split())\nprint a + b\n"
STATEMENT = "Add two integers.\n\n-----Example-----\nInput\n1 2\n\nOutput\n3\n"


def apps(**changed):
    tests = {"inputs": ["1 2\n", "5 6\n", ["10 0"]], "outputs": ["3\n", "11\n", ["10"]]}
    row = {
        "problem_id": 7,
        "question": STATEMENT,
        "solutions": json.dumps([PYTHON_2, ADD]),
        "input_output": json.dumps(tests),
        "difficulty": "introductory",
        "url": "",
        "starter_code": "",
    }
    return row | changed


def apps_function(outputs, solutions, inputs=((1, 2), (3, 4)), name="both"):
    tests = {"fn_name": name, "inputs": [list(given) for given in inputs], "outputs": outputs}
    return apps(
        question="Do something with both.",
        solutions=json.dumps(solutions),
        input_output=json.dumps(tests),
        starter_code=f"def {name}(x, y):\n\t",
    )


def code_contests(**changed):
    row = {
        "name": "1_A. Sum",
        "description": "Add two integers.",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": {"input": ["2 2\n", "9 0\n"], "output": ["4\n", "9\n"]},
        "generated_tests": {"input": ["2 2\n", "0 5\n"], "output": ["4\n", "5\n"]},
        "solutions": {"language": [2, 1, 3], "solution": ["int main() {}", PYTHON_2, ADD]},
        "incorrect_solutions": {"language": [3, 3, 2], "solution": [SUBTRACT, "print(", "int main() {}"]},
        "difficulty": 7,
        "time_limit": {"seconds": 1, "nanos": 0},
        "input_file": "",
        "output_file": "",
    }
    return row | changed


def packed(found, protocol=4):
    """As LiveCodeBench packs its private tests."""
    return base64.b64encode(zlib.compress(pickle.dumps(found, protocol=protocol))).decode()


def live_code_bench(**changed):
    public = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]
    private = [{"input": f"{n} 5\n", "output": f"{n + 5}\n", "testtype": "stdin"} for n in range(4)]
    row = {
        "question_title": "Sum",
        "question_content": "Add two integers.",
        "platform": "atcoder",
        "question_id": "abc000_a",
        "contest_id": "abc000",
        "contest_date": "2024-05-18T00:00:00",
        "starter_code": "",
        "difficulty": "easy",
        "public_test_cases": json.dumps(public),
        "private_test_cases": packed(json.dumps(private)),
        "metadata": "{}",
    }
    return row | changed


def live_code_bench_function(**changed):
    public = [{"input": '[1, 2]\n"a"', "output": '["a", "a", "a"]', "testtype": "functional"}]
    private = [{"input": '[4]\n"b"', "output": '["b", "b", "b", "b"]', "testtype": "functional"}]
    row = live_code_bench(
        platform="leetcode",
        starter_code="class Solution:\n    def spread(self, nums: List[int], s: str) -> List[str]:\n        ",
        public_test_cases=json.dumps(public),
        private_test_cases=packed(json.dumps(private)),
        metadata=json.dumps({"func_name": "spread"}),
    )
    return row | changed


def human_eval(**changed):
    row = {
        "task_id": "Own/0",
        "prompt": (
            "from typing import List\n\ndef half(x):\n    return x // 2\n\n\n"
            'def halves(xs: List[int], least: int) -> List[int]:\n    """ Halve what is at least `least`.\n'
            "    >>> halves([4, 1], 2)\n    [2]\n\n    halves([8], 1) ➞ [4]\n    halves([8], 1) ➞ [5]\n"
            '    halves([6], 1) == [0]\n    """\n'
        ),
        "entry_point": "halves",
        "canonical_solution": "    return [half(x) for x in xs if x >= least]\n",
        "test": (
            "METADATA = {}\n\n\ndef check(candidate):\n    import random\n    assert candidate([9, 2], 3) == [4]\n"
            "    for _ in range(5):\n        x = random.randint(10, 99)\n"
            "        assert candidate([x], 5) == [half(x)]\n"
        ),
    }
    return row | changed


def write(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def run_import(tmp_path, name, rows, **options):
    """(what became of the rows, the lines written, the file)."""
    out = tmp_path / f"{name}.jsonl"
    made = import_set(name, write(tmp_path / f"{name}_rows.jsonl", rows), out, **options)
    return made, [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()], str(out)


def tasks_of(game):
    source = game.domain.tasks
    return [source.get(split, index) for split in SPLITS for index in range(source.size(split))]


def play(game, task, reply=None):
    """The state at the end of an episode in which every agent gives `reply`, or what the oracle would."""
    state, run = game.initial(task), default_driver().run
    while members := game.active(state):
        outputs = {agent: game.oracle(state, agent) if reply is None else reply for agent in members}
        state = step_sync(game, state, outputs, run).state
    return state
