"""Boxoban level files: what is read, and what is refused with file and line."""

import itertools
import json
import time

import pytest

from masgym.domains.sokoban import Sokoban
from masgym.domains.sokoban.boxoban import find_file, generated, instances, level_text
from masgym.domains.sokoban.solver import is_small
from masgym.errors import BadFile
from masgym.game import Game
from masgym.tasks import SPLITS
from masgym.workflows.solo import Solo

GOOD = """; 0
#####
#@$.#
#####

; 1
######
#. $@#
######
"""


def write(folder, text):
    path = folder / "levels.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_levels_of_a_file_are_the_tasks(tmp_path):
    domain = Sokoban(file=write(tmp_path, GOOD.replace("\n", "\r\n")))
    tasks = [domain.tasks.get(split, i) for split in SPLITS for i in range(domain.tasks.size(split))]
    boards = {tuple(task.content["board"]): task for task in tasks}
    assert set(boards) == {("#####", "#@$.#", "#####"), ("######", "#.-$@#", "######")}
    second = boards["######", "#.-$@#", "######"]
    assert second.optimum == 2
    assert second.params["file"] == "levels.txt"
    assert domain.initial(second).pushes_at_start == 2


def test_a_changed_file_is_read_again(tmp_path):
    domain = Sokoban(file=write(tmp_path, GOOD))
    assert sum(domain.tasks.size(split) for split in SPLITS) == 2
    write(tmp_path, GOOD + "\n" + GOOD)
    assert sum(domain.tasks.size(split) for split in SPLITS) == 4


def test_floor_that_nobody_can_reach_becomes_wall():
    (made,) = instances("    ######\n    #@$.##\n    ###### \n".replace("# \n", "#\n"), "f")
    assert made.content["board"] == ["##########", "#####@$.##", "##########"]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("; 0\n#####\n#-$.#\n#####\n", 2, "0 players"),
        ("; 0\n#####\n#@$.#\n#@--#\n#####\n", 4, "2 players"),
        (GOOD + "\n; 2\n#####\n#@$.#\n####\n", 14, "4 symbols"),
        ("; 0\n#####\n#@$?#\n#####\n", 3, "'\\?'"),
        ("; 0\n#####\n#@$-#\n#####\n", 2, "1 boxes and 0 goals"),
        ("; 0\n#####\n#@--#\n#####\n", 2, "0 boxes"),
        ("; 0\n#####\n#@$.#\n# ###\n", 4, "edge"),
        ("; 0\n#######\n#@$-#.#\n#######\n", 3, "goal"),
        ("; 0\n########\n#@.-#$-#\n########\n", 3, "box"),
        ("; 0\n######\n#@*--#\n######\n", 2, "nothing to solve"),
        ("; 0\n#####\n#$--#\n#@.-#\n#####\n", 2, "cannot be solved"),
        ("; 0\n#####\n#-@-#\n#-$-#\n#-*-#\n#-.-#\n#####\n", 2, "cannot be solved"),
        ("; 0\n" + "#" * 14 + "\n#@" + "$" * 11 + "#\n#-" + "." * 11 + "#\n" + "#" * 14 + "\n", 2, "11 boxes"),
    ],
)
def test_faults_name_file_and_line(tmp_path, text, line, reason):
    with pytest.raises(BadFile, match=rf"levels\.txt, line {line}: .*{reason}"):
        Sokoban(file=write(tmp_path, text))


@pytest.mark.parametrize("shape", [(3, 5000), (5000, 3), (65, 5), (5, 65), (3, 1_000_000)])
@pytest.mark.parametrize("name", ["levels.txt", "levels.jsonl"])
def test_a_board_that_is_too_large_is_refused_at_once(tmp_path, shape, name):
    rows = corridor(*shape)
    path = tmp_path / name
    path.write_text("\n".join(rows) if name.endswith("txt") else json.dumps({"board": rows}))
    started = time.perf_counter()
    with pytest.raises(BadFile, match=r"levels.*at most 64 x 64"):
        Sokoban(file=str(path))
    assert time.perf_counter() - started < 5


def test_the_largest_board_is_read_in_time(tmp_path):
    started = time.perf_counter()
    Sokoban(file=write(tmp_path, "\n".join(corridor(64, 64))))
    assert time.perf_counter() - started < 30


def corridor(height, width):
    """An empty board with a box and its goal in the first row inside, or in the first column."""
    rows = [list("#" * width), *(list("#" + "-" * (width - 2) + "#") for _ in range(height - 2)), list("#" * width)]
    for place, symbol in enumerate("@$.", start=1):
        row, column = (1, place) if width > 4 else (place, 1)
        rows[row][column] = symbol
    return ["".join(row) for row in rows]


@pytest.mark.parametrize(
    ("text", "reason"), [("", "no level"), ("; 0\n\n; 1\n", "no level"), (b"\xff\xfe#\x00", "no text")]
)
def test_files_that_hold_no_level(tmp_path, text, reason):
    with pytest.raises(BadFile, match=reason):
        Sokoban(file=write(tmp_path, text))


def test_a_file_that_is_not_there():
    with pytest.raises(BadFile, match=r"nowhere\.txt.*cannot be read"):
        Sokoban(file="nowhere.txt")


def test_the_shipped_levels():
    domain = Sokoban(file="boxoban_style.txt")
    game = Game(domain=domain, workflow=Solo(), T=40)
    large = 0
    for split in SPLITS:
        for index in range(domain.tasks.size(split)):
            state = game.initial(domain.tasks.get(split, index))
            world = state.world
            assert (world.position.layout.width, world.position.layout.height) == (10, 10)
            assert world.position.boxes.bit_count() in (3, 4)
            assert world.pushes_at_start >= 12
            large += not is_small(world.position.layout)
            while game.active(state):
                state = game.apply(state, {"actor_0": game.oracle(state, "actor_0")}, {}).state
            assert state.success
    assert sum(domain.tasks.size(split) for split in SPLITS) == 40
    assert large  # both ways of solving were used


def test_the_shipped_file_is_what_the_generator_makes():
    levels = list(itertools.islice(generated(40), 4))
    shipped = [made.content["board"] for made in instances(_shipped_text(), "shipped")]
    assert shipped[:4] == levels
    assert _shipped_text().startswith(level_text(levels))


def _shipped_text():
    return find_file("boxoban_style.txt").read_text()
