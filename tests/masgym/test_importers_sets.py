"""Sets of mathematics, questions and levels."""

import json
from pathlib import Path

import pytest
from importer_rows import play, run_import, tasks_of, write

import masgym
from masgym.errors import BadFile, BadValue
from masgym.importers import SETS, import_set

LEVEL = """; 0
##########
##########
##########
#####  ###
##### @###
#####$ ###
####  .###
####   ###
####   ###
##########
"""
BOARD = [row.replace(" ", "-") for row in LEVEL.splitlines()[1:]]


def olympiad(**changed):
    row = {
        "id": 1606,
        "question": "Find $x$ with $2x = 7$.",
        "context": None,
        "final_answer": ["$\\frac{7}{2}$"],
        "is_multiple_answer": False,
        "unit": None,
        "answer_type": "Numerical",
        "error": None,
        "subfield": "Algebra",
        "difficulty": "Competition",
    }
    return row | changed


def dapo(**changed):
    question = "What is $5+5$?\n\nGive it as an integer."
    content = (
        "Solve the following math problem in any way. End with Answer: $Answer.\n\n"
        f"{question}\n\nRemember to put your answer at the end."
    )
    row = {
        "data_source": "own",
        "prompt": [{"role": "user", "content": content}],
        "ability": "MATH",
        "reward_model": {"ground_truth": "10", "style": "rule"},
        "extra_info": {"index": "a"},
    }
    return row | changed


def question(**changed):
    row = {
        "id": "train_0",
        "question": "Which river flows through the town where Ada Reed was born?",
        "golden_answers": ["Lune", "River Lune"],
        "metadata": {
            "type": "bridge",
            "level": "hard",
            "supporting_facts": {"title": ["Ada Reed", "Lunby"], "sent_id": [0, 1]},
            "context": {"title": ["Ada Reed"], "sentences": [["She was born in Lunby."]]},
        },
    }
    return row | changed


class TestMathematics:
    @pytest.mark.parametrize(
        ("name", "row", "answer", "level"),
        [
            ("aime24", {"ID": "2024-I-1", "Problem": "Why?", "Solution": "So.", "Answer": 204}, "204", "aime24"),
            ("aime25", {"question": "Why?", "answer": "070"}, "070", "aime25"),
            ("math500", {"problem": "Why?", "answer": "\\frac12", "subject": "Algebra", "level": 5}, "\\frac12", "5"),
            ("amc", {"id": 0, "problem": "Why?", "answer": 142.0, "url": ""}, "142", "amc"),
            ("minerva", {"question": "Why?", "answer": "$4.5e33$"}, "4.5 \\times 10^{33}", "minerva"),
            ("polaris", {"problem": "Why?", "answer": "\\boxed{(0, 1)}", "difficulty": "3/8"}, "(0, 1)", "3/8"),
        ],
    )
    def test_the_sets_of_problems(self, tmp_path, name, row, answer, level):
        _, (line,), out = run_import(tmp_path, name, [row])
        game = masgym.game("math", "solo", tasks=out)
        (task,) = tasks_of(game)
        assert task.content == {"question": "Why?", "answer": answer, "source": name}
        assert (task.level, task.content_hash) == (level, line["content_hash"])
        assert name == "polaris" or task.split == "test"
        assert play(game, task).success

    def test_dapo(self, tmp_path):
        made, (line,), out = run_import(tmp_path, "dapo_math", [dapo(), dapo(extra_info={"index": "b"})])
        assert line["question"] == "What is $5+5$?\n\nGive it as an integer."
        assert made.left_out == {"it is there already": 1}
        game = masgym.game("math", "solo", tasks=out)
        assert all(play(game, task).success for task in tasks_of(game))
        bare = dapo(prompt=[{"role": "system", "content": "Think."}, {"role": "user", "content": "What is $5+5$?"}])
        assert run_import(tmp_path, "dapo_math", [bare])[1][0]["question"] == "What is $5+5$?"

    @pytest.mark.parametrize(
        ("change", "asked", "answer"),
        [
            ({}, "Find $x$ with $2x = 7$.", "\\frac{7}{2}"),
            ({"context": "Let $x$ be real."}, "Let $x$ be real.\n\nFind $x$ with $2x = 7$.", "\\frac{7}{2}"),
            ({"unit": "m"}, "Find $x$ with $2x = 7$.\nGive the answer in m, without the unit.", "\\frac{7}{2}"),
            (
                {"final_answer": ["$1$, $200$"], "is_multiple_answer": True},
                "Find $x$ with $2x = 7$.\nGive all answers in one box, separated by a comma and a space.",
                "\\{1, 200\\}",
            ),
            (
                {"final_answer": ["$x=1$", "$x=2$"]},
                "Find $x$ with $2x = 7$.\nGive all answers in one box, separated by a comma and a space.",
                "\\{x=1, x=2\\}",
            ),
        ],
    )
    def test_olympiad_bench(self, tmp_path, change, asked, answer):
        _, (line,), out = run_import(tmp_path, "olympiadbench", [olympiad(**change)])
        assert (line["question"], line["answer"], line["level"]) == (asked, answer, "Competition")
        game = masgym.game("math", "solo", tasks=out)
        assert all(play(game, task).success for task in tasks_of(game))

    def test_an_answer_with_a_tolerance(self, tmp_path):
        row = olympiad(final_answer=["$3.46$"], error="1e-2")
        _, (line,), out = run_import(tmp_path, "olympiadbench", [row])
        assert line["tolerance"] == 0.01
        assert line["question"].endswith("\nGive the answer as a decimal number.")
        game = masgym.game("math", "solo", tasks=out)
        (task,) = tasks_of(game)
        tried = {"3.46": True, "3.47": True, "3.45": True, "3.4501": True, "3.4701": False, "173/50": True, "3": False}
        tried |= {"\\sqrt{12}": False, "2*1.73": False, "3.46, 3.47": False}
        for reply, right in tried.items():
            assert play(game, task, f"\\boxed{{{reply}}}").success == right, reply

    def test_several_answers_in_any_order(self, tmp_path):
        row = olympiad(final_answer=["1,200"], is_multiple_answer=True)
        game = masgym.game("math", "solo", tasks=run_import(tmp_path, "olympiadbench", [row])[2])
        (task,) = tasks_of(game)
        for reply, right in [("200, 1", True), ("1, 200", True), ("\\{200,1\\}", True), ("1200", False), ("1", False)]:
            assert play(game, task, f"\\boxed{{{reply}}}").success == right, reply

    @pytest.mark.parametrize(
        ("name", "row", "reason"),
        [
            ("olympiadbench", olympiad(final_answer=None), "it has no final answer that can be compared"),
            (
                "olympiadbench",
                olympiad(answer_type="Need_human_evaluate"),
                "it has no final answer that can be compared",
            ),
            ("olympiadbench", olympiad(question="In <image_1>?"), "it needs a picture"),
            ("olympiadbench", olympiad(error="1e-2,1e-1"), "its tolerance is not that of a single number"),
            ("olympiadbench", olympiad(error="nan"), "its tolerance is not that of a single number"),
            ("olympiadbench", olympiad(error="1e-2", final_answer=["\\sqrt{2}"]), "its tolerance is not that of"),
            (
                "polaris",
                {"problem": "Why?", "answer": "7}"},
                "its answer cannot be put in a box: its braces do not match",
            ),
            ("polaris", {"problem": "Why?", "answer": "x" * 501}, "longer than 500"),
            ("polaris", {"problem": "Why?", "answer": " "}, "its box was empty"),
            ("hotpotqa", question(golden_answers=["?"]), "no reply can give any of its answers"),
        ],
    )
    def test_rows_that_are_left_out_are_counted(self, tmp_path, name, row, reason):
        good = {"olympiadbench": olympiad(), "polaris": {"problem": "Why?", "answer": 1}, "hotpotqa": question()}
        made, _, _ = run_import(tmp_path, name, [row, row, good[name]])
        ((told, count),) = made.left_out.items()
        assert reason in told
        assert (made.written, count) == (1, 2)

    @pytest.mark.parametrize(
        ("name", "row", "says"),
        [
            (
                "aime24",
                {"answer": "1"},
                "field 'problem': None instead of a value (nor is there a field Problem or question)",
            ),
            ("aime24", {"problem": "", "answer": "1"}, "field 'problem': ''"),
            ("aime24", {"problem": "Why?"}, "field 'answer': None"),
            ("aime24", {"problem": "Why?", "Answer": True}, "field 'Answer': True instead of a text or a number"),
            ("aime24", {"problem": "Why?", "answer": ["1"]}, "field 'answer': ['1']"),
            ("dapo_math", dapo(prompt=[]), "field 'prompt': [] instead of a list of messages"),
            ("dapo_math", dapo(prompt=[{"role": "user"}]), "field 'prompt.content'"),
            ("dapo_math", dapo(reward_model={}), "field 'reward_model.ground_truth': None"),
            ("olympiadbench", olympiad(final_answer="7"), "field 'final_answer': '7' instead of a list"),
            ("olympiadbench", olympiad(unit=3), "field 'unit': 3 instead of a text"),
            ("hotpotqa", question(golden_answers="Lune"), "field 'golden_answers': 'Lune' instead of a list"),
            ("hotpotqa", question(golden_answers=None), "field 'golden_answers': None instead of a list"),
            ("hotpotqa", question(question=""), "field 'question': ''"),
            ("hotpotqa", question(id=None), "field 'id': None"),
            ("hotpotqa", question(metadata=[]), "field 'metadata': [] instead of an object"),
            ("nq", question(metadata={"supporting_facts": {"title": [3]}}), "metadata.supporting_facts.title"),
        ],
    )
    def test_errors_name_file_line_and_field(self, tmp_path, name, row, says):
        with pytest.raises(BadFile) as caught:
            run_import(tmp_path, name, [row])
        assert says in str(caught.value)
        assert f"{name}_rows.jsonl, line 1" in str(caught.value)


SERVER = "http://127.0.0.1:1"  # of passages; nobody asks it


class TestQuestions:
    def test_a_row(self, tmp_path):
        _, (line,), out = run_import(tmp_path, "hotpotqa", [question()], split="validation")
        corpus = write(
            tmp_path / "corpus.jsonl",
            [
                {"id": "0", "contents": '"Ada Reed"\nAda Reed was born in Lunby.'},
                {"id": "1", "contents": '"Lunby"\nThe Lune flows through Lunby.'},
                {"id": "2", "contents": '"Reed"\nA plant that grows by a river.'},
            ],
        )
        game = masgym.game("search", "solo", tasks=out, corpus=corpus)
        (task,) = tasks_of(game)
        assert (task.split, task.level, task.content["gold"]) == ("validation", "hard", ["Ada Reed", "Lunby"])
        assert task.content["golden_answers"] == ["Lune", "River Lune"]
        assert line["metadata"] == {"supporting_facts": {"title": ["Ada Reed", "Lunby"]}, "level": "hard"}
        assert play(game, task).success

    @pytest.mark.parametrize("name", [name for name, found in SETS.items() if found.domain == "search"])
    @pytest.mark.parametrize("metadata", [None, {}, {"supporting_facts": None, "level": None}])
    def test_every_set_and_what_tables_make_of_missing_fields(self, tmp_path, name, metadata):
        _, _, out = run_import(tmp_path, name, [question(metadata=metadata, id=3)])
        (task,) = tasks_of(masgym.game("search", "solo", tasks=out, corpus=SERVER))
        assert (task.level, task.content["id"], task.content["gold"]) == ("unrated", "3", [])
        assert name == "hotpotqa" or task.split == "test"


def hotpot(**fields):
    """A row as HotpotQA's own files have it."""
    return {
        "_id": "5a8b57f25542995d1e6f1371",
        "question": "Which river runs through the town where Ada Reed was born?",
        "answer": "Lune",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Ada Reed", 0], ["Lunby", 0], ["Lunby", 2]],
        "context": [["Ada Reed", ["Ada Reed was born in Lunby."]], ["Lunby", ["Lunby lies on the Lune.", "x", "y"]]],
        **fields,
    }


class TestHotpotsOwnForm:
    @pytest.mark.parametrize("answer", ["Lune", "yes"])
    @pytest.mark.parametrize(
        "on_hubs",
        [{}, {"_id": None, "id": "5a8", "supporting_facts": {"title": ["Ada Reed", "Lunby"], "sent_id": [0, 0]}}],
    )
    def test_it_becomes_search_r1s(self, tmp_path, answer, on_hubs):
        row = hotpot(answer=answer, **on_hubs)
        source = tmp_path / "hotpot_dev_distractor.json"
        source.write_text(json.dumps([row]))
        import_set("hotpotqa", str(source), tmp_path / "out.jsonl")
        (line,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
        assert line["id"] == (row["_id"] or row["id"])
        assert line["golden_answers"] == [answer]
        assert list(dict.fromkeys(line["metadata"]["supporting_facts"]["title"])) == ["Ada Reed", "Lunby"]
        game = masgym.game("search", "solo", tasks=tmp_path / "out.jsonl", corpus=SERVER)
        (task,) = tasks_of(game)
        assert (task.level, task.content["gold"]) == ("hard", ["Ada Reed", "Lunby"])

    @pytest.mark.parametrize(
        ("row", "says"),
        [
            (hotpot(_id=None), "field '_id': None instead of a value (nor is there a field id)"),
            (hotpot(answer=["Lune"]), "field 'answer': ['Lune'] instead of a text"),
            (hotpot(answer=""), "field 'answer': '' instead of a text that is not empty"),
            (hotpot(answer=None), "field 'golden_answers': None instead of a list"),
            (hotpot(question=None), "field 'question': None"),
            (hotpot(supporting_facts=["Ada Reed"]), "field 'supporting_facts': ['Ada Reed'] instead of pairs"),
            (hotpot(supporting_facts=[[3, 0]]), "field 'supporting_facts': [[3, 0]] instead of pairs"),
        ],
    )
    def test_errors_name_line_and_field(self, tmp_path, row, says):
        (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
        with pytest.raises(BadFile, match="line 1, ") as caught:
            import_set("hotpotqa", str(tmp_path / "rows.jsonl"), tmp_path / "out.jsonl")
        assert says in str(caught.value)
        assert not (tmp_path / "out.jsonl").exists()


class TestBoxoban:
    def import_levels(self, tmp_path, text, **options):
        (tmp_path / "000.txt").write_text(text)
        made = import_set("boxoban", str(tmp_path), tmp_path / "levels.jsonl", **options)
        return made, str(tmp_path / "levels.jsonl")

    def test_a_level(self, tmp_path):
        made, out = self.import_levels(tmp_path, LEVEL, split="validation")
        game = masgym.game("sokoban", "solo", tasks=out)
        (task,) = tasks_of(game)
        assert (made.written, task.split, task.content) == (1, "validation", {"board": BOARD})
        assert play(game, task).success

    def test_a_folder_is_all_its_files(self, tmp_path):
        (tmp_path / "more").mkdir()
        (tmp_path / "more" / "001.txt").write_text(LEVEL.replace("##### @###", "#####@ ###"))
        made, out = self.import_levels(tmp_path, LEVEL + "\n" + LEVEL)
        assert (made.written, made.left_out) == (2, {"it is there already": 1})
        assert len(tasks_of(masgym.game("sokoban", "solo", tasks=out))) == 2

    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            ("##### @###", "#####@###", "000.txt, line 6: 9 characters instead of 10"),
            ("##### @###", "##### x###", "000.txt, line 6: unknown symbol 'x'"),
            ("##### @###", "#####  ###", "000.txt, line 2: the level has 0 players"),
            ("#####$ ###\n####  .###", "#####  ###\n#### . $##", "000.txt, line 2"),
        ],
    )
    def test_errors_name_file_and_line(self, tmp_path, old, new, says):
        with pytest.raises(BadFile) as caught:
            self.import_levels(tmp_path, LEVEL.replace(old, new))
        assert says in str(caught.value)

    def test_no_levels(self, tmp_path):
        with pytest.raises(BadFile, match=r"no \.txt file"):
            import_set("boxoban", str(tmp_path), tmp_path / "levels.jsonl")
        with pytest.raises(BadFile, match="cannot be read"):
            import_set("boxoban", str(tmp_path / "none.txt"), tmp_path / "levels.jsonl")
        with pytest.raises(BadFile, match="gave no task"):
            self.import_levels(tmp_path, "; 0\n")

    @pytest.mark.parametrize(
        ("line", "says"),
        [
            ("[]", "line 1: list instead of a JSON object"),
            ("{", "line 1: no JSON object"),
            ('{"board": "##"}', "line 1, field 'board': ## instead of a list of rows"),
            (json.dumps({"board": BOARD[:-1]}), "line 1, field 'board', row"),
            (json.dumps({"board": BOARD, "split": "dev"}), "line 1, field 'split': 'dev'"),
            ("", "holds no level"),
        ],
    )
    def test_levels_as_json_lines(self, tmp_path, line, says):
        path = tmp_path / "own.jsonl"
        path.write_text(line + "\n")
        with pytest.raises(BadFile) as caught:
            masgym.game("sokoban", "solo", tasks=path)
        assert says in str(caught.value)


class TestTasksOption:
    def test_domains_that_draw_their_tasks(self):
        with pytest.raises(BadValue, match="plan_path draws its tasks"):
            masgym.make("plan_path", tasks="some.jsonl")

    def test_tasks_and_file_mean_the_same(self):
        with pytest.raises(BadValue, match="they mean the same"):
            masgym.game("math", tasks="a.jsonl", file="b.jsonl")

    def test_every_face(self, tmp_path):
        out = run_import(tmp_path, "aime24", [{"problem": "What is 1+1?", "answer": 2}])[2]
        env = masgym.make("math", workflow="solo", tasks=out)
        env.reset(seed=0, options={"split": "test"})
        assert "What is 1+1?" in env.last()[0]["text"]
        assert masgym.parallel_env("math", workflow="pair", tasks=out).reset(options={"split": "test"})
        with pytest.raises(BadFile, match="hold none of split 'train'"):
            env.reset(seed=0)


class TestSplits:
    ROWS = ({"question": f"What is {n}+1?", "answer": str(n + 1)} for n in range(40))

    def test_lines_of_both_kinds(self, tmp_path):
        rows = [{**row, **({"split": "test"} if n < 10 else {})} for n, row in enumerate(self.ROWS)]
        source = masgym.game("math", tasks=write(tmp_path / "own.jsonl", rows)).domain.tasks
        sizes = {split: source.size(split) for split in ("train", "validation", "test")}
        assert sum(sizes.values()) == 40
        assert sizes["train"] > 5
        firsts = {source.get("test", n).content["question"] for n in range(sizes["test"])}
        assert {f"What is {n}+1?" for n in range(10)} <= firsts

    def test_a_task_is_in_one_split(self, tmp_path):
        row = {"question": "What is 1+1?", "answer": "2"}
        file = write(tmp_path / "own.jsonl", [row | {"split": "test"}, row | {"split": "train"}])
        with pytest.raises(BadFile, match=r"own\.jsonl is in split 'test' and again in 'train'"):
            masgym.game("math", tasks=file)

    def test_a_changed_line_is_noticed(self, tmp_path):
        out = run_import(tmp_path, "aime24", [{"problem": "What is 1+1?", "answer": 2}])[2]
        line = json.loads(Path(out).read_text())
        with pytest.raises(BadFile, match="line 1, field 'content_hash'"):
            masgym.game("math", tasks=write(tmp_path / "own.jsonl", [line | {"answer": "3"}]))
        assert masgym.game("math", tasks=write(tmp_path / "own.jsonl", [line | {"level": "hard"}]))
