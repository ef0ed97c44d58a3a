"""The page as a file: what is in it, that it is whole, that nothing in it can be taken for markup."""

import asyncio
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from run_folders import EVIL, SYSTEM, episode, evaluated, event, rollout, sampled_tree, trained

import masgym
from masgym.agents.oracle import OracleAgent
from masgym.errors import BadFile
from masgym.folder import play_run
from masgym.runs import plan
from masgym.viewer import write_page
from masgym.viewer.write import SCRIPTS, as_json


class Blocks(HTMLParser):
    """What an HTML parser sees: the JSON blocks by id, and all tags."""

    def __init__(self, page):
        super().__init__()
        self.blocks, self.tags, self.title, self._id = {}, [], "", None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        own = dict(attrs)
        self._id = own.get("id") if own.get("type") == "application/json" else None

    def handle_data(self, data):
        if self.tags[-1:] == ["title"] and not self.title:
            self.title = data
        if self._id:
            self.blocks[self._id] = json.loads(data)
            self._id = None


def page_of(folder, out):
    return Blocks(write_page(folder, out).read_text(encoding="ascii"))


def test_a_real_run_is_in_it_as_it_was_played(tmp_path):
    game = masgym.game("sokoban", "pair")
    folder = tmp_path / "run"
    asyncio.run(play_run(plan(game, {"*": "oracle"}, tasks=2), {"*": OracleAgent()}, folder))
    page = page_of(folder, tmp_path / "run.html")
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    texts = page.blocks["index"]["texts"]
    for number, row in enumerate(rows):
        summary = page.blocks["index"]["episodes"][number]
        assert {name: summary[name] for name in ("task", "success", "turns")} == {
            name: row[name] for name in ("task", "success", "turns")
        }
        for shown, played in zip(page.blocks[f"episode-{number}"]["events"], row["events"], strict=True):
            for member in shown["members"]:
                for message in member["messages"]:
                    if "text" in message:
                        message["content"] = texts[message.pop("text")]
            assert shown == played
    assert page.blocks["index"]["about"]["environment"] == "masgym/sokoban_v0"
    assert page.blocks["index"]["about"]["sandbox"]


def test_what_a_model_wrote_is_no_markup(tmp_path):
    evil = [episode(0, events=[event(1, "tool_0", EVIL, note=EVIL)], task=EVIL, ended=EVIL, level=EVIL, success=False)]
    clean = page_of(evaluated(tmp_path / "clean", [episode(0)]), tmp_path / "clean.html")
    page = page_of(evaluated(tmp_path / "evil", evil), tmp_path / "evil.html")
    assert page.tags == clean.tags
    assert page.blocks["episode-0"]["events"][0]["members"][0]["reply"] == EVIL
    assert page.blocks["index"]["episodes"][0]["task"] == EVIL
    named = write_page(evaluated(tmp_path / "<script>alert(1)<", [episode(0)]), tmp_path / "named.html")
    assert Blocks(named.read_text()).tags == clean.tags


@pytest.mark.parametrize("name", ["l\u00e4uf \u4e2d \U0001f600", "b\udcffd", "a & b", "\u202egnp"])
def test_a_folder_may_have_any_name(tmp_path, name):
    page = page_of(evaluated(tmp_path / name, [episode(0)]), tmp_path / "run.html")
    assert page.blocks["index"]["name"] == name
    assert page.title == f"{name.replace(chr(0xDCFF), chr(0xFFFD))} | masgym"


def test_json_in_a_page_has_no_character_that_html_reads():
    text = as_json({EVIL: [EVIL, "\u2029", float("nan")]})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {EVIL: [EVIL, "\u2029", "nan"]}


def test_the_page_needs_nothing_else(tmp_path):
    page = write_page(evaluated(tmp_path / "run", [episode(0)]), tmp_path / "run.html").read_text()
    own = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert "default-src 'none'" in own
    assert not re.search(r"\b(src|href)\s*=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", own)
    for name in SCRIPTS:
        script = (files("masgym.viewer") / "page" / name).read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script), (
            name
        )


def test_long_texts_that_come_again_are_there_once(tmp_path):
    page = write_page(evaluated(tmp_path / "run", [episode(i) for i in range(50)]), tmp_path / "run.html")
    assert page.read_text().count(SYSTEM) == 1


def test_a_tree_has_its_candidates_and_the_path(tmp_path):
    page = page_of(trained(tmp_path / "run", sampled_tree()), tmp_path / "run.html")
    (summary,), (first, second) = page.blocks["index"]["episodes"], page.blocks["episode-0"]["events"]
    assert [one["chosen"] for one in first["candidates"]] == [False, True]
    assert [one["replies"]["actor_0"]["reward"] for one in second["candidates"]] == [2.0, 1.0]
    assert first["turn"] == 1
    assert summary["success"] is True
    assert (summary["returns"], summary["malformed"], summary["run"]) == (1.0, {"actor": 1}, 3)


def test_cut_off_replies_are_counted_for_the_table(tmp_path):
    folder = evaluated(tmp_path / "run", [episode(0), {**episode(1), "cut": 2}])
    ends = ("length", "stop", "length", "stop")
    trained(folder, [{**row, "finish": finish} for row, finish in zip(sampled_tree(), ends, strict=True)])
    found = page_of(folder, tmp_path / "run.html").blocks["index"]["episodes"]
    assert [one["cut"] for one in found] == [0, 2, 2]
    other = page_of(trained(tmp_path / "other", sampled_tree()), tmp_path / "other.html")
    assert other.blocks["index"]["episodes"][0]["cut"] is None


def test_rollouts_of_other_trainers_are_shown_too(tmp_path):
    keys = ("group", "task", "agent", "turn", "prompt", "reply", "reward", "advantage")
    rows = [{key: row[key] for key in keys} | {"prompt": "text"} for row in sampled_tree()]
    page = page_of(trained(tmp_path / "run", rows), tmp_path / "run.html")
    assert len(page.blocks["index"]["episodes"]) == 2
    assert page.blocks["episode-1"]["events"][0]["prompts"] == {"actor_0": [{"role": "", "content": "text"}]}
    assert page.blocks["index"]["episodes"][0]["success"] is None


def test_a_torn_last_line_and_a_missing_run_file_do_no_harm(tmp_path):
    folder = evaluated(tmp_path / "run", [episode(0)])
    (folder / "run.json").write_text("{")
    with (folder / "episodes.jsonl").open("a") as file:
        file.write('{"task": "half')
    page = page_of(folder, tmp_path / "run.html")
    assert len(page.blocks["index"]["episodes"]) == 1
    assert page.blocks["index"]["about"] == {}


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("episodes.jsonl", "{}", "line 1, field "),
        ("episodes.jsonl", "no json", "line 1"),
        ("episodes.jsonl", json.dumps(episode(0, events=[{"turn": 1}])), "line 1, field 'events'"),
        ("episodes.jsonl", json.dumps(episode(0, events=3)), "line 1, field 'events'"),
        ("rollouts.jsonl", '{"group": 1}', "line 1, field 'prompt'"),
        ("rollouts.jsonl", json.dumps(rollout(0, "a", 0, chosen=True, reward=None, advantage=0)), "field 'reward'"),
    ],
)
def test_a_bad_line_is_told(tmp_path, name, line, says):
    (tmp_path / name).write_text(line + "\n")
    with pytest.raises(BadFile, match=re.escape(says)) as told:
        write_page(tmp_path, tmp_path / "run.html")
    assert name in str(told.value)
    assert not list(tmp_path.glob("*.html*"))
    assert not list(tmp_path.glob(".*"))


def test_what_cannot_be_shown_or_written_is_told(tmp_path):
    with pytest.raises(BadFile, match="holds no episodes"):
        write_page(tmp_path / "none", tmp_path / "run.html")
    with pytest.raises(BadFile, match="cannot be written"):
        write_page(evaluated(tmp_path / "run", [episode(0)]), tmp_path / "no" / "folder" / "run.html")
