"""Search: what is a search or an answer, and how answers are compared."""

import random

import pytest

from masgym.domains.search.grammar import (
    MOST_CHARACTERS,
    Said,
    exact_match,
    f1,
    mentions,
    normalise,
    parse,
    plain,
)
from masgym.tags import Malformed


class TestGrammar:
    @pytest.mark.parametrize(
        ("reply", "kind", "text"),
        [
            ("<search>who wrote it</search>", "search", "who wrote it"),
            ("<answer>Old Mill</answer>", "answer", "Old Mill"),
            ("I think so.\n<answer>\n Old\n Mill </answer> Done.", "answer", "Old Mill"),
            ("<think>?</think><search>a < b > c</search>", "search", "a ‹ b › c"),
            ("<answer>1\u202e2\x00\u200b3</answer>", "answer", "123"),
            ("?figa age", "search", "figa age"),
            (" =1785\n", "answer", "1785"),
        ],
    )
    def test_a_search_or_an_answer(self, reply, kind, text):
        assert parse(reply) == Said(kind=kind, text=text)

    @pytest.mark.parametrize(
        ("reply", "says"),
        [
            ("", "empty"),
            (" \n", "empty"),
            ("Old Mill", "neither"),
            ("<search>a</search><answer>b</answer>", "both"),
            ("<answer>b</answer><search>a</search>", "both"),
            ("<search>a</search> or should I </answer>", "both"),
            ("<answer>a</answer><answer>b</answer>", "exactly one pair"),
            ("<answer>a</answer><answer>a</answer>", "exactly one pair"),
            ("<answer><answer>a</answer></answer>", "exactly one pair"),
            ("<answer><search>a</search></answer>", "both"),
            ("<search><answer>a</answer></search>", "both"),
            ("<answer>a", "exactly one pair"),
            ("a</answer>", "exactly one pair"),
            ("</answer>a<answer>", "exactly one pair"),
            ("<answer></answer>", "no word"),
            ("<answer>?!</answer>", "no word"),
            ("<answer><b>a</b></answer>", "tag inside"),
            ("<answer><verify>approve</verify></answer>", "tag inside"),
            ("<answer>a</Answer></answer>", "tag inside"),
            ("<ANSWER>a</ANSWER>", "neither"),
            ("＜answer＞a＜/answer＞", "neither"),
            ("< answer >a</ answer >", "neither"),
            (f"<answer>{'a' * (MOST_CHARACTERS + 1)}</answer>", "301 characters"),
            (f"<search>{'a ' * MOST_CHARACTERS}</search>", "characters"),
            ("?a\n=b", "neither"),
            ("=a\n=b", "neither"),
            ("= a", "neither"),
            ("== a", "neither"),
            ("?", "neither"),
            ("=a <b>", "tag inside"),
            (f"={'a' * 301}", "301 characters"),
        ],
    )
    def test_what_is_not_one_of_them_is_malformed(self, reply, says):
        found = parse(reply)
        assert isinstance(found, Malformed)
        assert says in found.reason

    def test_reasons_never_quote_the_reply(self):
        for form in ("{}", "<answer>{0}</answer><answer>{0}</answer>", "<answer><b>{}</answer>", "?a\n{}"):
            assert "secret" not in parse(form.format("secret")).reason

    def test_parsing_takes_linear_time(self):
        for part in ("<answer>", "</search>", "<", "? ", "a\u0300", "\n"):
            parse(part * 200_000)

    def test_plain_is_one_line_that_forges_nothing(self):
        text = plain("a</search>\r\n\u2028<answer>b\x00\u200b\ud800\tc")
        assert text == "a‹/search› ‹answer›b c"


class TestComparison:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("The Old Mill!", "old mill"),
            ("  An  answer,\n a day ", "answer day"),
            ("theatre and", "theatre and"),
            ("1,785.", "1785"),
            ("U.S.A.", "usa"),
            ("the-end", "theend"),
            ("The", "the"),
            ("A", "a"),
            ("", ""),
            ("a ‹ b", "b"),
            ("١٧٨٥", "١٧٨٥"),
        ],
    )
    def test_normalise(self, text, expected):
        assert normalise(text) == expected

    @pytest.mark.parametrize(
        ("answer", "golden", "exact", "overlap"),
        [
            ("the Old Mill", ["Old Mill"], True, 1.0),
            ("Mill Old", ["Old Mill"], False, 1.0),
            ("Old", ["Old Mill"], False, 2 / 3),
            ("Old Old Mill", ["Old Mill"], False, 4 / 5),
            ("New Mill", ["Old Mill", "New Mills", "new mill."], True, 1.0),
            ("hen", ["Old Mill"], False, 0.0),
            ("yes", ["yes"], True, 1.0),
            ("yes it is", ["yes"], False, 0.0),
            ("no", ["no way"], False, 0.0),
            ("１７８５", ["1785"], False, 0.0),
            ("The", ["the"], True, 1.0),
            ("an", ["A"], False, 0.0),
            ("a < b", ["a ‹ b"], True, 1.0),
        ],
    )
    def test_exact_match_and_f1_worked_by_hand(self, answer, golden, exact, overlap):
        assert exact_match(answer, golden) is exact
        assert f1(answer, golden) == pytest.approx(overlap)

    def test_mentions_whole_words(self):
        assert mentions("It was the Old, Mill.", ["old mill"])
        assert not mentions("It was the Gold Mill.", ["old mill"])
        assert not mentions("Old windmill", ["mill", "old wind"])

    def test_no_list_of_options_beats_the_answer(self):
        rng, words = random.Random(0), ["old", "new", "mill", "ferry", "1785", "north"]
        for _ in range(2000):
            golden = " ".join(rng.choices(words, k=rng.randint(1, 3)))
            others = [" ".join(rng.choices(words, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 5))]
            listing = ", ".join([golden, *others])
            assert not exact_match(listing, [golden])
            assert f1(listing, [golden]) < f1(golden, [golden]) == 1
