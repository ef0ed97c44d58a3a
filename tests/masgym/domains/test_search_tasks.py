"""Search: the generated world, its questions, questions files."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from masgym.domains.search import LEVELS, Search
from masgym.domains.search.generator import draw
from masgym.domains.search.grammar import (
    mentions,
    normalise,
)
from masgym.domains.search.knowledge import RELATIONS, knowledge
from masgym.domains.search.world import passage_of
from masgym.errors import BadFile, BadValue
from masgym.tasks import SPLITS

SMALL = {"entities": 200}


class TestKnowledge:
    @pytest.mark.parametrize(("terse", "passages"), [(False, 5000), (True, 10_000)])
    def test_the_default_is_large_and_nothing_is_twice(self, terse, passages):
        known = knowledge(0, 4000, terse)
        assert len(known.passages) == len(set(known.passages)) == passages
        assert len({normalise(entity.name) for entity in known.entities}) == 4000

    def test_every_fact_is_stated_by_its_passage_and_by_no_letter(self):
        known = knowledge(3, 200, False)
        pages = {passage_of(text).title: passage_of(text).text for text in known.passages}
        letters = [text for text in known.passages if text.startswith("Letter ")]
        assert len(letters) == 50
        for (subject, word), thing in known.facts.items():
            assert mentions(pages[known.title(subject, word)], [known.name(thing)])

    def test_kinds_and_objects_fit(self):
        known = knowledge(1, 300, False)
        for (subject, word), thing in known.facts.items():
            (relation,) = [r for r in RELATIONS[known.entities[subject].kind] if r.word == word]
            kind = "year" if isinstance(thing, str) else known.entities[thing].kind
            assert kind == relation.object

    def test_a_capital_lies_in_its_region_and_a_head_belongs_to_the_guild(self):
        known = knowledge(0, 4000, False)
        for (subject, word), thing in known.facts.items():
            back = {"capital": "region", "head": "guild"}.get(word)
            if back:
                assert known.facts[thing, back] == subject

    def test_distractors_share_words(self):
        names = [entity.name for entity in knowledge(0, 4000, False).entities]
        words = Counter(word for name in names for word in name.lower().split())
        shared = [any(words[word] > 1 for word in name.lower().split() if word not in ("the", "of")) for name in names]
        assert np.mean(shared) > 0.95

    def test_it_follows_from_its_key(self):
        assert knowledge(1, 150, True) is knowledge(1, 150, True)
        assert knowledge(1, 150, True).passages != knowledge(2, 150, True).passages

    @pytest.mark.parametrize("entities", [100, 101, 5000])
    @pytest.mark.parametrize("terse", [False, True])
    def test_other_sizes(self, entities, terse):
        known = knowledge(0, entities, terse)
        assert len({entity.name for entity in known.entities}) == entities


class TestTasks:
    @pytest.mark.parametrize("level", LEVELS)
    def test_a_question_has_its_chain_and_one_answer(self, level):
        domain = Search(**LEVELS[level])
        known = knowledge(0, 4000, domain.terse)
        for index in range(30):
            task = domain.tasks.get("train", index)
            content, hops = task.content, domain.hops
            assert len(content["gold"]) == len(content["queries"]) == hops
            (answer,) = content["golden_answers"]
            assert not mentions(content["question"], [answer])
            assert follow(known, content["terse"]) == answer
            assert content["question"].count(" of ") >= hops

    def test_no_hop_can_be_left_out(self):
        domain = Search(hops=3)
        pages = {passage_of(text).title: text for text in knowledge(0, 4000, False).passages}
        for index in range(50):
            content = domain.tasks.get("test", index).content
            for title in content["gold"][:-1]:
                assert not mentions(pages[title], content["golden_answers"])
            assert mentions(pages[content["gold"][-1]], content["golden_answers"])

    def test_splits_are_disjoint_and_tasks_come_again(self):
        domain = Search(hops=2, **SMALL)
        seen = {split: {domain.tasks.get(split, i).content_hash for i in range(60)} for split in SPLITS}
        assert not set.intersection(seen["train"], seen["test"] | seen["validation"])
        assert domain.tasks.get("test", 7) == Search(hops=2, **SMALL).tasks.get("test", 7)
        assert domain.tasks.get("test", 7) != replace(domain, seed=1).tasks.get("test", 7)

    @pytest.mark.parametrize("level", LEVELS)
    def test_no_answer_is_frequent(self, level):
        tasks = Search(**LEVELS[level]).tasks
        answers = Counter(tasks.get("train", i).content["golden_answers"][0] for i in range(300))
        assert answers.most_common(1)[0][1] < 0.05 * 300

    def test_the_same_draw_gives_the_same_instance(self):
        asked = {"seed": 0, "entities": 200, "terse": False, "hops": 2, "top_k": 3}
        one, two = (draw(np.random.default_rng(5), **asked) for _ in range(2))
        assert one == two

    @pytest.mark.parametrize(
        ("fields", "says"),
        [
            ({"hops": 0}, "hops is 0"),
            ({"hops": 5}, "from 1 to 4"),
            ({"hops": True}, "hops is True"),
            ({"hops": 3, "searches": 2}, "too few"),
            ({"hops": 3, "turns": 3}, "too few"),
            ({"entities": 10}, "entities"),
            ({"top_k": 0}, "top_k"),
            ({"f1_weight": 0.9}, "f1_weight"),
            ({"f1_weight": "x"}, "f1_weight"),
            ({"corpus": "x.jsonl"}, "no file of questions"),
            ({"corpus": "http://127.0.0.1:1"}, "no file of questions"),
        ],
    )
    def test_impossible_arguments(self, fields, says):
        with pytest.raises(BadValue, match=says):
            Search(**fields)


def follow(known, terse):
    """The end of the chain that a terse question asks for, by going through all entities and facts."""
    words = terse.removesuffix("?").split()
    numbers = {entity.name: number for number, entity in enumerate(known.entities)}
    length = next(n for n in range(len(words), 0, -1) if " ".join(words[:n]) in numbers)
    thing = numbers[" ".join(words[:length])]
    for word in words[length:]:
        thing = known.facts[thing, word]
    return known.name(thing)


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows)


ROW = {"id": "q1", "question": "Who lives in the mill?", "golden_answers": ["Ana", "A. Na"]}


class TestFiles:
    def domain(self, tmp_path, text, **fields):
        path = tmp_path / "questions.jsonl"
        path.write_text(text)
        passages = tmp_path / "passages.jsonl"
        passages.write_text('{"contents": "Ana\\nAna lives in the mill."}')
        return Search(file=str(path), **{"corpus": str(passages), **fields})

    def tasks(self, domain):
        return [domain.tasks.get(s, i) for s in SPLITS for i in range(domain.tasks.size(s))]

    def test_search_r1_and_hotpotqa_rows(self, tmp_path):
        facts = {"title": ["The Mill", "Ana", "The Mill"], "sent_id": [0, 1, 2]}
        hotpot = {**ROW, "id": 7, "metadata": {"level": "hard", "supporting_facts": facts, "context": {"title": ["x"]}}}
        domain = self.domain(tmp_path, lines(ROW, hotpot) + "\n\n")
        by_id = {task.content["id"]: task for task in self.tasks(domain)}
        assert by_id["q1"].content["gold"] == []
        assert by_id["q1"].content["queries"] == ["Who lives in the mill?"]
        assert by_id["7"].content["gold"] == ["The Mill", "Ana"]
        assert (by_id["q1"].level, by_id["7"].level) == ("unrated", "hard")
        assert by_id["7"].params["file"] == "questions.jsonl"
        assert "context" not in str(by_id["7"].content)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "no question"),
            ("{", "line 1: no JSON"),
            (lines(ROW) + "\n[]", "line 2: list instead of a JSON object"),
            (lines({**ROW, "question": ""}), "line 1: `question`"),
            (lines({**ROW, "question": 3}), "line 1: `question`"),
            (lines({"question": "a?"}), "line 1: `golden_answers` is 'None'"),
            (lines({**ROW, "golden_answers": []}), "`golden_answers`"),
            (lines({**ROW, "golden_answers": "Ana"}), "`golden_answers`"),
            (lines({**ROW, "golden_answers": ["Ana", 3]}), "`golden_answers`"),
            (lines({**ROW, "golden_answers": ["<b>"]}), "no reply can give"),
            (lines({**ROW, "golden_answers": ["a" * 400]}), "no reply can give"),
            (lines({**ROW, "metadata": []}) + "\n" + lines({**ROW, "metadata": [1]}), "line 2: `metadata`"),
            (lines({**ROW, "metadata": {"supporting_facts": 3}}), "supporting_facts.title"),
            (lines({**ROW, "metadata": {"supporting_facts": {"title": [1]}}}), "supporting_facts.title"),
            (lines({**ROW, "queries": "x"}), "`queries`"),
        ],
    )
    def test_a_bad_file_is_told_with_line_and_field(self, tmp_path, text, says):
        with pytest.raises(BadFile, match=says) as caught:
            self.domain(tmp_path, text)
        assert "questions.jsonl" in str(caught.value)

    def test_files_that_are_not_there(self, tmp_path):
        with pytest.raises(BadFile, match="cannot be read"):
            Search(file=str(tmp_path / "none.jsonl"))
        with pytest.raises(BadFile, match="cannot be read"):
            self.domain(tmp_path, lines(ROW), corpus=str(tmp_path / "none.jsonl"))
        with pytest.raises(BadValue, match="URL"):
            self.domain(tmp_path, lines(ROW), corpus="ftp://a/b")

    def test_the_oracle_gives_an_answer_that_can_be_given(self, tmp_path):
        row = {**ROW, "golden_answers": ["<b>", "x" * 400, "Ana < Bo", "Ana"], "question": "q " * 300}
        domain = self.domain(tmp_path, lines(row))
        (task,) = self.tasks(domain)
        world = domain.initial(task)
        reply = domain.oracle(world, "act")  # the question is too long to search for
        assert reply == "<answer>Ana < Bo</answer>"
        assert domain.effect("act", world, reply, ()).right
