"""Tasks of the code domain: the drawn ones, the shipped ones, and files of them."""

import json
import random
from collections import Counter

import numpy as np
import pytest

from masgym.domains.code import LEVELS, Code
from masgym.domains.code.checks import answers, passes, run
from masgym.domains.code.families import FAMILIES
from masgym.domains.code.families.template import filled, mutants
from masgym.domains.code.harness import decode, encode
from masgym.domains.code.one_line import FAMILIES as ONE_LINE
from masgym.domains.code.one_line import NAMES, draw
from masgym.domains.code.pieces import NUMBER, TEXT, Step
from masgym.domains.code.problem import problem_of, shown
from masgym.domains.code.replies import NO_TESTS, expression_of, good_tests, read_tests
from masgym.domains.code.shipped import task
from masgym.domains.code.taskfile import SHIPPED, instances, line_of, load
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.paths import data_file
from masgym.tasks import SPLITS
from masgym.tools.python import Python

TEXT_OF_SHIPPED = data_file("code", SHIPPED).read_text()
SHIPPED_TASKS = instances(TEXT_OF_SHIPPED, SHIPPED)


def drawn(name, seed=0):
    rng, made = np.random.default_rng([seed, 5]), None
    while made is None:
        made = draw(rng, families=(name,))
    return made


def faults(made):
    """What is wrong with a task: its reference fails a case, a mutant passes all gold tests or all of `tests`."""
    problem = problem_of(made.content)
    cases = (*problem.examples, *problem.gold, *problem.tests)
    programs = (problem.reference, *problem.mutants)
    found = answers(Python()(run(problem, programs, cases).arguments), len(programs) * len(cases))
    rows = [found[i : i + len(cases)] for i in range(0, len(found), len(cases))]
    passed = [[passes(problem, case, answer) for case, answer in zip(cases, row, strict=True)] for row in rows]
    first, last = len(problem.examples), len(problem.examples) + len(problem.gold)
    wrong = [] if all(passed[0]) else ["the reference fails"]
    return wrong + [f"mutant {i} passes" for i, row in enumerate(passed[1:]) if all(row[first:last]) or all(row[last:])]


class TestOneLine:
    def test_every_family_means_what_its_text_says(self):
        """The values in a task come from functions, its programs are text: in the sandbox both must agree."""
        for family in ONE_LINE:
            assert faults(drawn(family.name)) == []

    @pytest.mark.slow
    @pytest.mark.parametrize("family", ONE_LINE, ids=lambda family: family.name)
    def test_many_of_every_family(self, family):
        for seed in range(1, 20):
            assert faults(drawn(family.name, seed)) == []

    def test_no_constant_passes_more_than_half(self):
        for index in range(200):
            gold = Code().tasks.get("train", index).content["gold"]
            assert max(Counter(json.dumps(case["expected"]) for case in gold).values()) <= len(gold) // 2

    def test_there_are_thousands_and_each_lies_in_one_split(self):
        count = 250
        functions = {split: {Code().tasks.get(split, i).content["reference"] for i in range(count)} for split in SPLITS}
        assert sum(map(len, functions.values())) == len(set().union(*functions.values()))
        assert len(functions["train"]) > 0.8 * count
        assert len(functions["test"]) > 0.8 * count

    @pytest.mark.slow
    def test_splits_are_disjoint(self):
        hashes = {split: {Code().tasks.get(split, i).content_hash for i in range(10_000)} for split in SPLITS}
        assert sum(map(len, hashes.values())) == len(set().union(*hashes.values()))

    def test_equal_arguments_give_equal_tasks_and_the_seed_matters(self):
        assert Code().tasks.get("test", 3) == Code().tasks.get("test", 3)
        assert len({Code(seed=seed).tasks.get("test", 3).content_hash for seed in range(5)}) == 5

    def test_cases_are_kept_apart(self):
        for index in range(100):
            content = Code().tasks.get("train", index).content
            groups = [{json.dumps(case["args"]) for case in content[key]} for key in ("examples", "gold", "tests")]
            assert len(set().union(*groups)) == sum(map(len, groups))
            assert len({json.dumps(case["expected"]) for case in content["examples"]}) > 1

    def test_replies_are_short(self):
        """A small model answers with an expression, and sees a prompt of a few lines."""
        for index in range(100):
            task = Code().tasks.get("train", index)
            world = Code().initial(task)
            assert len(Code().oracle(world, "act")) < 80
            assert len(Code().render(world, "compact")) < 400
            assert Code().oracle(world, "act") == expression_of(task.content["reference"])

    def test_brackets_are_written_where_they_matter(self):
        add, double = Step(piece=NUMBER[0], k=3), Step(piece=NUMBER[2], k=2)
        assert double.code(add.code("x")) == "(x+3)*2"
        upper, first = Step(piece=TEXT[0], k=None), Step(piece=TEXT[2], k=2)
        assert upper.code(first.code("s")) == "s[:2].upper()"
        assert Step(piece=NUMBER[8], k=4).code(add.code("x")) == "max(x+3,4)"


class TestShipped:
    def test_there_are_enough_of_every_level(self):
        assert len(SHIPPED_TASKS) >= 150
        assert len({made.content["source"] for made in SHIPPED_TASKS}) >= 25
        assert Counter(made.level for made in SHIPPED_TASKS) == {"easy": 54, "medium": 82, "hard": 76}
        assert all(len(made.content["mutants"]) >= 3 for made in SHIPPED_TASKS)
        assert all(len(made.content["gold"]) >= 8 for made in SHIPPED_TASKS)

    def test_the_references_pass_and_every_mutant_fails_somewhere(self):
        for made in SHIPPED_TASKS[3::11]:
            assert faults(made) == [], made.content["source"]

    @pytest.mark.slow
    @pytest.mark.parametrize("part", range(11))
    def test_all_of_them(self, part):
        for made in SHIPPED_TASKS[part::11]:
            assert faults(made) == [], made.content["source"]

    def test_no_two_are_equal_and_no_case_is_used_twice(self):
        assert len({json.dumps(made.content) for made in SHIPPED_TASKS}) == len(SHIPPED_TASKS)
        for made in SHIPPED_TASKS:
            problem = problem_of(made.content)
            given = [case.given for case in (*problem.examples, *problem.gold, *problem.tests)]
            assert len(given) == len(set(given)), made.content["source"]

    def test_no_constant_passes_more_than_half(self):
        for made in SHIPPED_TASKS:
            gold = [case.expected for case in problem_of(made.content).gold]
            assert max(map(gold.count, gold)) <= len(gold) / 2, made.content["source"]

    def test_the_oracles_tests_are_well_formed(self):
        for made in SHIPPED_TASKS:
            problem = problem_of(made.content)
            assert read_tests(good_tests(problem, 8), problem, 8) == problem.tests

    def test_the_file_is_what_its_command_writes(self):
        assert "".join(map(line_of, SHIPPED_TASKS)) == TEXT_OF_SHIPPED
        rows = {line_of(made) for made in SHIPPED_TASKS}
        for family in FAMILIES[::9]:
            assert line_of(task(family, family.variants[-1])) in rows

    def test_mistakes_are_pieces_of_their_programs(self):
        for family in FAMILIES:
            for old, _ in family.mistakes:
                assert any(filled(old, v) in filled(family.program, v) for v in family.variants), (family.name, old)
            assert all(len(mutants(family, variant)) >= 3 for variant in family.variants)

    def test_levels(self):
        for level in LEVELS:
            domain = Code(**LEVELS[level])
            assert {domain.tasks.get("train", i).level for i in range(10)} == {level}
        sizes = [Code(file=SHIPPED, difficulty="hard").tasks.size(split) for split in SPLITS]
        assert sum(sizes) == 76
        assert min(sizes) > 5
        with pytest.raises(UnknownName, match="Known: easy, hard, medium"):
            Code(file=SHIPPED, difficulty="harder")


def two_sum(a, target):
    return sum(a[i] + a[j] == target for i in range(len(a)) for j in range(i))


class TestWhatTheyMean:
    """A few families against other ways to compute the same, on every case that is shipped."""

    def cases(self, source, variant=0):
        found = [made.content for made in SHIPPED_TASKS if made.content["source"] == f"masgym/{source}"][variant]
        for case in (*found["examples"], *found["gold"], *found["tests"]):
            yield (case.get("args") or case.get("stdin")), case.get("expected", case.get("stdout"))

    def test_against_brute_force(self):
        for (n,), text in self.cases("to_base", 0):
            assert int(text, 2) == n
        for (n,), text in self.cases("to_base", 3):
            assert int(text, 16) == n
        for (low, high), count in self.cases("primes", 0):
            assert count == sum(n > 1 and all(n % d for d in range(2, n)) for n in range(low, high + 1))
        for (a, target), count in self.cases("count_pairs", 0):
            assert count == two_sum(a, target)
        for (s,), count in self.cases("palindromes", 2):
            pieces = {s[i:j] for j in range(len(s) + 1) for i in range(j)}
            assert count == sum(piece == piece[::-1] for piece in pieces)
        for (a,), best in self.cases("best_run", 0):
            assert best == max(sum(a[i:j]) for j in range(len(a) + 1) for i in range(j))
        for (a,), best in self.cases("best_run", 3):
            assert best == max(sum((a + a)[i : i + n]) for i in range(len(a)) for n in range(1, len(a) + 1))
        for (text,), found in self.cases("formula", 0):
            assert found == in_usual_order(text.replace(" ", ""))


def in_usual_order(text):
    """Splits at the last + or - outside of brackets, else at the last *."""
    for signs in ("+-", "*"):
        depth = 0
        for i in range(len(text) - 1, -1, -1):
            depth += (text[i] == ")") - (text[i] == "(")
            if depth == 0 and text[i] in signs:
                left, right = in_usual_order(text[:i]), in_usual_order(text[i + 1 :])
                return left + right if text[i] == "+" else left - right if text[i] == "-" else left * right
    return in_usual_order(text[1:-1]) if text[0] == "(" else int(text)


GOOD = {
    "level": "mine",
    "statement": "Return x.",
    "form": "function",
    "entry_point": "f",
    "examples": [],
    "gold": [{"args": [1], "expected": 1}],
    "reference": "def f(x): return x",
    "mutants": [],
    "time_limit": 1,
}


class TestFiles:
    def test_a_file_of_ones_own(self, tmp_path):
        path = tmp_path / "own.jsonl"
        path.write_text(
            "\n" + "\n\n".join(json.dumps(GOOD | {"statement": f"Return x. {i}"}) for i in range(40)) + "\n"
        )
        domain = Code(file=str(path))
        assert sum(domain.tasks.size(split) for split in SPLITS) == 40
        task = domain.tasks.get("test", 0)
        assert (task.level, task.params["file"], len(task.params["sha256"])) == ("mine", "own.jsonl", 64)
        assert Code(file=str(path), difficulty="mine").tasks.size("test") == domain.tasks.size("test")
        assert "Examples" not in domain.render(domain.initial(task), "full")
        assert domain.oracle(domain.initial(task), "act") == "```python\ndef f(x): return x\n```"
        assert domain.oracle(domain.initial(task), "tool") == NO_TESTS

    def test_fields_of_others_do_not_count(self):
        (one,) = instances(json.dumps(GOOD | {"contest_date": "2024-01-01"}), "x")
        assert "contest_date" not in one.content
        assert instances(json.dumps(GOOD), "x") == [one]
        assert len(instances("\n".join([json.dumps(GOOD)] * 3), "x")) == 1

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"statement": None}, "line 1, field 'statement': None instead of a text"),
            ({"level": ""}, "line 1, field 'level': ''"),
            ({"form": "cli"}, "field 'form': 'cli' instead of one of function, stdin"),
            ({"entry_point": "f()"}, "field 'entry_point': 'f()' instead of a name"),
            ({"parameters": ["x", 1]}, "field 'parameters': 1 instead of a name"),
            ({"gold": []}, "field 'gold': either gold cases or a `check`"),
            ({"gold": [{"args": 1, "expected": 1}]}, "field 'gold': {'args': 1, 'expected': 1} instead of"),
            ({"gold": [{"args": [1]}]}, "field 'gold'"),
            ({"gold": [{"args": [{"set": [[]]}], "expected": 1}]}, "field 'gold': {'set': [[]]} is no encoded value"),
            ({"examples": {}}, "field 'examples': {} instead of a list"),
            ({"mutants": [1]}, "field 'mutants': 1 instead of a text"),
            ({"time_limit": 0}, "field 'time_limit': 0"),
            ({"time_limit": True}, "field 'time_limit': True"),
            ({"check": {"program": "x"}}, "field 'check'"),
            ({"prelude": "\0"}, "field 'prelude': it is no Python program"),
            ({"prelude": "import"}, "field 'prelude': it is no Python program"),
            ({"reference": "def f(x: return"}, "field 'reference': it is no Python program"),
            ({"reference": "\0"}, "field 'reference': it is no Python program"),
            ({"reference": "(" * 10_000}, "field 'reference': it is no Python program"),
            ({"reference": "x"}, "field 'reference': it defines no "),
            ({"form": "stdin"}, "field 'gold': {'args': [1], 'expected': 1} instead of"),
        ],
    )
    def test_errors_name_file_line_and_field(self, change, says, tmp_path):
        path = tmp_path / "bad.jsonl"
        path.write_text(json.dumps(GOOD | change))
        with pytest.raises(BadFile) as caught:
            Code(file=str(path))
        assert says in str(caught.value)
        assert "bad.jsonl, line 1" in str(caught.value)

    @pytest.mark.parametrize("text", ["", "\n \n", "[1]", "{", "null", '{"a": 1}', "\ufeff"])
    def test_no_task_file(self, text, tmp_path):
        path = tmp_path / "bad.jsonl"
        path.write_text(text)
        with pytest.raises(BadFile, match=r"bad\.jsonl"):
            load(str(path))

    def test_files_that_cannot_be_read(self, tmp_path):
        with pytest.raises(BadFile, match="cannot be read"):
            load(str(tmp_path / "none.jsonl"))
        (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe{}")
        with pytest.raises(BadFile, match="UTF-8"):
            load(str(tmp_path / "binary.jsonl"))


class TestValues:
    @pytest.mark.parametrize(
        "v",
        [
            *(None, True, 1, 1.5, "a", [1, [2]], {"a": 1}, (1, (2,)), {1, 2}, frozenset({1}), {}, (), set()),
            *({1: "a"}, {"tuple": 1}, {"tuple": [1]}, {(1, 2): {3}}, float("inf"), {"a": {"set": (None,)}}),
        ],
    )
    def test_encoding_is_reversible(self, v):
        plain = json.loads(json.dumps(encode(v)))
        assert decode(plain) == v
        assert type(decode(plain)) is type(v)

    def test_equal_values_are_written_alike(self):
        for _ in range(50):
            items = random.sample(range(99), 9)
            assert encode({*items}) == encode({*reversed(items)})
            assert encode({i: i for i in items}) == encode({i: i for i in reversed(items)})

    def test_other_values_are_refused(self):
        for v in (object(), b"", 1j, range(3), int, (i for i in ()), type("I", (int,), {})(3)):
            with pytest.raises(TypeError, match="cannot be compared"):
                encode(v)

    def test_cases_are_shown_as_python(self):
        problem = problem_of(GOOD | {"gold": [{"args": ["a\n", {"tuple": [1]}], "expected": {"set": [1]}}]})
        assert shown(problem.gold[0], "function", "f") == "f('a\\n', (1,)) == {1}"


class TestFamilies:
    def test_nano_holds_functions_of_one_integer_only(self):
        nano = Code(families=LEVELS["nano"]["families"])
        drawn = [nano.tasks.get("train", index).content for index in range(60)]
        assert {str(content["source"]).rsplit("/", 1)[1] for content in drawn} == {"one_step", "two_steps", "check"}
        assert all(content["parameters"] == ["x"] for content in drawn)

    def test_all_of_them_are_the_easy_level_with_the_same_tasks(self):
        assert Code(families=list(NAMES)) == Code()
        assert Code(families=list(NAMES)).tasks.get("test", 5) == Code().tasks.get("test", 5)
        assert Code(families=("one_step",)).tasks.get("test", 5).id != Code(families=("check",)).tasks.get("test", 5).id

    @pytest.mark.parametrize("bad", [(), "one_step", 3, None])
    def test_something_else_than_names_is_refused(self, bad):
        with pytest.raises(BadValue, match="a list of names was expected, of: one_step"):
            Code(families=bad)

    def test_an_unknown_name_is_told_with_those_that_exist(self):
        with pytest.raises(UnknownName, match=r"family of code.*one_step"):
            Code(families=("one_stp",))
