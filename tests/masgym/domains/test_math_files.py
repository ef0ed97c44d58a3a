"""Task files: what is read, and what errors say."""

import json

import pytest

import masgym
from masgym.domains.math import Math
from masgym.domains.math.taskfile import load
from masgym.errors import BadFile
from masgym.tasks import SPLITS
from masgym.tools.driver import default_driver, step_sync

ROWS = [
    {"question": "What is $2^{10}$?", "answer": "1024", "level": "easy", "source": "handmade", "id": 3},
    {"question": "How many primes are below 20?", "answer": 8},
    {"question": "Solve x^2 = 2.", "answer": r"\pm \sqrt{2}"},
    {"question": "Which interval?", "answer": "(0, 1]", "level": "hard"},
    {"question": "Factor x^2 - 1.", "answer": "(x-1)(x+1)"},
    {"question": "Who?", "answer": r"\text{Evelyn}"},
]


def write(tmp_path, *lines):
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def file(tmp_path):
    return write(tmp_path, *map(json.dumps, ROWS))


def tasks_of(source):
    return [source.get(split, index) for split in SPLITS for index in range(source.size(split))]


def test_every_row_is_a_task(file):
    found = {task.content["question"]: task for task in tasks_of(load(file))}
    assert len(found) == len(ROWS)
    first = found["What is $2^{10}$?"]
    assert first.content == {"question": "What is $2^{10}$?", "answer": "1024", "source": "handmade"}
    assert (first.level, first.params["file"], len(first.params["sha256"])) == ("easy", "tasks.jsonl", 64)
    assert found["How many primes are below 20?"].content["answer"] == "8"
    assert found["How many primes are below 20?"].level == "listed"


@pytest.mark.parametrize("workflow", ["solo", "pair"])
def test_the_oracle_solves_what_is_listed(file, workflow):
    game, run = masgym.game("math", workflow, file=file), default_driver().run
    for task in tasks_of(game.domain.tasks):
        state = game.initial(task)
        while members := game.active(state):
            state = step_sync(game, state, {agent: game.oracle(state, agent) for agent in members}, run).state
        assert state.success


def test_other_ways_to_write_a_listed_answer(file):
    game, run = masgym.game("math", "solo", file=file), default_driver().run
    replies = {
        "(x-1)(x+1)": r"\boxed{x^2-1}",
        r"\pm \sqrt{2}": r"\boxed{\{\sqrt{2}, -\sqrt{2}\}}",
        "1024": r"\boxed{1{,}024}",
    }
    for task in tasks_of(game.domain.tasks):
        if reply := replies.get(task.content["answer"]):
            assert step_sync(game, game.initial(task), {"actor_0": reply}, run).state.success, reply


def test_blank_lines_and_repeated_rows(tmp_path):
    row = json.dumps(ROWS[1])
    assert len(tasks_of(load(write(tmp_path, "", row, "  ", row, json.dumps(ROWS[0]))))) == 2


def test_a_changed_file_is_read_again(tmp_path):
    assert len(tasks_of(load(write(tmp_path, json.dumps(ROWS[0]))))) == 1
    assert len(tasks_of(load(write(tmp_path, *map(json.dumps, ROWS[:2]))))) == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: no JSON object"),
        ("[" * 100_000, "line 2: no JSON object"),
        ('{"question": "a", "answer": "7", "tolerance": "0.1"}', "line 2, field 'tolerance': '0.1'"),
        ('{"question": "a", "answer": "7", "tolerance": -1}', "line 2, field 'tolerance': -1 instead of a number"),
        ('{"question": "a", "answer": "x", "tolerance": 0.1}', "line 2, field 'tolerance': .* one in digits"),
        ("[1]", "line 2: list instead"),
        ('{"question": "x", "answer": "5\\u001b[31m"}', "line 2, field 'answer': .*cannot be the content"),
        ('{"answer": "7"}', "line 2, field 'question': None"),
        ('{"question": " ", "answer": "7"}', "line 2, field 'question': ' '"),
        ('{"question": "x"}', "line 2, field 'answer': None"),
        ('{"question": "x", "answer": true}', "line 2, field 'answer': True"),
        ('{"question": "x", "answer": 0.5}', "line 2, field 'answer': 0.5"),
        ('{"question": "x", "answer": "}7{"}', "line 2, field 'answer': '}7{' cannot be the content of one"),
        (r'{"question": "x", "answer": "\\boxed{7}"}', "line 2, field 'answer': .*cannot be the content"),
        ('{"question": "x", "answer": "7", "level": 3}', "line 2, field 'level': 3"),
        ('{"question": "x", "answer": "7", "source": ""}', "line 2, field 'source': ''"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, line, says):
    with pytest.raises(BadFile, match=rf"tasks\.jsonl, {says}"):
        Math(file=write(tmp_path, json.dumps(ROWS[0]), line))


def test_only_newlines_end_lines(tmp_path):
    rows = [{**ROWS[0], "question": "one\u2028two\x85three"}, ROWS[1]]
    file = write(tmp_path, *(json.dumps(row, ensure_ascii=False) + "\r" for row in rows))
    assert len(tasks_of(load(file))) == 2


@pytest.mark.parametrize("file", ["\0", "a\0b", 5, True, b"x", ["x"]])
@pytest.mark.parametrize("domain", ["math", "code", "sokoban", "search"])
def test_what_is_no_name_of_a_file(domain, file):
    with pytest.raises(BadFile, match=r"cannot be read|a path was expected"):
        masgym.game(domain, file=file)


def test_no_file_no_text_no_task(tmp_path):
    with pytest.raises(BadFile, match="cannot be read"):
        Math(file=str(tmp_path / "none.jsonl"))
    with pytest.raises(BadFile, match="holds no task"):
        Math(file=write(tmp_path, ""))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadFile, match="UTF-8"):
        Math(file=str(tmp_path / "binary"))
