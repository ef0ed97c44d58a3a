import itertools
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masgym.domains.moves import grammar, parse_moves
from masgym.tags import Malformed

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("reply", "moves"),
    [
        ("R R U", "RRU"),
        ("rru", "RRU"),
        ("R,R,U", "RRU"),
        (" R ,, U\n", "RU"),
        ("right, Right UP", "RRU"),
        ("upup", "UU"),
        ("downleft", "DL"),
        ("ud", "UD"),
        ("<answer>R R U</answer>", "RRU"),
        ("I think up is blocked, so:\n<answer>\nleft\n</answer> That is all.", "L"),
        ("a ``` fence ``` is only prose beside <answer>D</answer>", "D"),
    ],
)
def test_a_list_of_moves_is_read(reply, moves):
    assert parse_moves(reply, 4) == moves


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \t\n",
        "\u00a0\u2003",
        ",",
        "<answer></answer>",
        "<answer> , </answer>",
        "R R U.",
        "R-U",
        "['R', 'U']",
        "Up we go",
        "upp",
        "ri ght",
        "east",
        "1 2 3",
        "\u0661 \u0662",  # Arabic-Indic digits
        "\uff32 \uff35",  # full-width R U
        "\u24c7",  # circled R
        "R\u00a0U",  # a no-break space is no separator
        "R\u200bU",  # nor is a zero-width one
        "r\u0131ght",  # dotless i
        "R\u0301",  # R with a combining accent
        "\ud800",  # a lone surrogate
        "R\x00U",
        "<ANSWER>R</ANSWER>",
        "<answer >R</answer>",
        "R</answer>",
        "<answer>R",
        "</answer>R<answer>",
        "<answer>R</answer><answer>R</answer>",
        "<answer><answer>R</answer></answer>",
        "<answer>R</answer></answer>",
        "<answer><b>R</b></answer>",
        "```python\nprint('R')\n```",
        "R U D L R",
    ],
)
def test_what_is_no_list_or_ambiguous_is_malformed(reply):
    assert isinstance(parse_moves(reply, 4), Malformed)


def test_the_prompt_echoed_back_is_ambiguous_even_with_an_answer_after_it():
    prompt = grammar(4)
    assert isinstance(parse_moves(prompt, 4), Malformed)
    assert isinstance(parse_moves(f"{prompt}\n<answer>U</answer>", 4), Malformed)


def test_reasons_name_the_fault():
    assert "empty" in parse_moves("  ", 4).reason
    assert "2 <answer> and 1 </answer>" in parse_moves("<answer><answer>R</answer>", 4).reason
    assert "5 moves; at most 4" in parse_moves("RRRRR", 4).reason
    assert "no list of the moves" in parse_moves("```\nprint(1)\n```", 4).reason


def test_limit_is_inclusive():
    assert parse_moves("RRRR", 4) == "RRRR"
    assert isinstance(parse_moves("RRRR", 3), Malformed)


def test_reasons_never_quote_the_reply():
    secret = "meet me at dawn"
    for reply in (secret, f"<answer>{secret}</answer>", f"```{secret}```", f"<answer>{secret}"):
        assert "dawn" not in parse_moves(reply, 4).reason


@pytest.mark.parametrize(
    "reply",
    [
        "<answer>" * (MILLION // 8),
        "</answer>" * (MILLION // 18) + "<answer>" * (MILLION // 16),
        "<answer>R</answer>" * (MILLION // 18),
        "<answer" * (MILLION // 7),
        "R " * (MILLION // 2),
        "R " * (MILLION // 2) + "x",
        "R" + " " * MILLION + "x",
        " " * MILLION,
        "," * MILLION,
        "R,\n " * (MILLION // 4) + "!",
        "up" * (MILLION // 2) + "p",
        "righ" * (MILLION // 4),
        "`" * MILLION,
        "<answer>" + "R, " * (MILLION // 3) + "x</answer>",
    ],
)
def test_a_million_characters_take_linear_time(reply):
    start = time.process_time()
    assert isinstance(parse_moves(reply, 4), Malformed)
    assert time.process_time() - start < 3  # quadratic time would take minutes


MOVE = "(?:up|down|left|right|[udlr])"


@given(
    st.lists(st.sampled_from(["u", "D", "up", "LEFT", "right", "p", "o", "t", " ", ",", "\n", "x", "."]), max_size=9)
)
def test_agrees_with_the_grammar_as_one_pattern(parts):
    text = "".join(parts)
    expected = re.fullmatch(rf"[\s,]*{MOVE}(?:[\s,]*{MOVE})*[\s,]*", text, re.IGNORECASE | re.ASCII)
    assert isinstance(parse_moves(text, 100), str) == bool(expected)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_never_raises(reply):
    parsed = parse_moves(reply, 4)
    assert isinstance(parsed, Malformed) or (0 < len(parsed) <= 4 and set(parsed) <= set("UDLR"))


def test_every_short_list_comes_back():
    for moves in itertools.product("UDLR", repeat=3):
        assert parse_moves(" ".join(moves), 3) == "".join(moves)
