"""python -m mastrain.report: the page of whatever a run left behind, in a browser too; damaged files are told."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from report_folders import four_groups, metrics, reply, run_folder

from mastrain.report import write_report
from mastrain.report.__main__ import main
from mastrain.report.charts import bars, charts, nice, thin
from mastrain.report.groups import read_groups, worst
from mastrain.report.reading import read_run

EVIL = "</style></script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"\u202e`\x00"


class Page(HTMLParser):
    """What is on a page: tags, links, text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data):
        self.text += data


def page_of(folder, out=None):
    return Page(write_report(folder, out or folder / "report.html").read_text())


def test_the_page_loads_nothing_and_runs_nothing(tmp_path):
    folder = run_folder(tmp_path / "run", rollouts=four_groups())
    page = page_of(folder)
    text = (folder / "report.html").read_text()
    assert "script" not in page.tags
    assert all(re.fullmatch(r"report-episodes\.html#episode-\d+-event-\d+", link) for link in page.links)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)|style=", text)
    assert "default-src 'none'" in text


def test_every_curve_of_the_issue_is_drawn(tmp_path):
    sets = {f"sets/K{size}/{name}": 1.0 for size in (1, 5) for name in ("ratio", "clip_fraction", "candidates")}
    folder = run_folder(tmp_path / "run", metrics(lambda step: sets))
    drawn = {chart.title: list(chart.curves) for chart in charts(read_run(folder))}
    assert drawn["Success"] == ["alone, validation tasks", "in training", "alone, test tasks"]
    assert drawn["Ratio"] == drawn["Clip fraction"] == ["K1", "K5"]
    for title in ("Entropy", "Gradient norm", "Reply length", "Reward", "Malformed replies", "Groups without variance"):
        assert drawn[title][:2] == ["tool", "actor"]
    assert drawn["Reward terms of tool"] == ["format"]
    assert {"Tokens a step", "Tokens so far", "Calls a step", "Episodes lost for good"} <= set(drawn)
    page = page_of(folder)
    assert page.tags.count("figure") == len(drawn) + 3  # states by turn, by stage; sizes of sets
    assert next(one.title for one in bars(read_run(folder))) == "Size of the active set"


def test_shares_of_states_add_up(tmp_path):
    for one in bars(read_run(run_folder(tmp_path / "run"))):
        assert list(one.sides) == ["training", "alone"]
        for side in one.sides.values():
            assert sum(side.values()) == pytest.approx(1)
        assert one.sides["training"] == one.sides["alone"]


def test_the_worst_groups_come_first_and_link_to_their_event(tmp_path):
    folder = run_folder(tmp_path / "run", rollouts=four_groups())
    found = worst(read_groups(folder))
    assert [(group.cause, group.place) for group in found if group.flat] == [
        ("malformed", (1, 0)),
        ("same reply", (0, 0)),
        ("solved", (1, 1)),
    ]
    assert found[-1].place == (0, 1)
    page = page_of(folder)
    assert page.links == [f"report-episodes.html#episode-{e}-event-{v}" for e, v in [(1, 0), (0, 0), (1, 1), (0, 1)]]
    assert (folder / "report-episodes.html").exists()


def test_one_hard_task_does_not_fill_the_list(tmp_path):
    rows = [reply(f"g{e}", c, -5.0, event=e) for e in range(9) for c in range(2)]
    rows += [reply(f"h{e}", c, 1.0, event=e, task="other") for e in range(2) for c in range(2)]
    rows += [reply("single", 0, -9.0, task="third")]
    found = worst(read_groups(run_folder(tmp_path / "run", rollouts=rows)))
    assert [group.task for group in found] == ["sokoban/train/0/00"] * 2 + ["other"] * 2


def test_sets_are_one_action(tmp_path):
    rows = [
        reply("g", c, float(c), agent=agent, action=f"e:{c}", malformed=agent == "tool_0" and c == 0, note="bad")
        for c in range(2)
        for agent in ("worker_0", "tool_0")
    ]
    (group,) = read_groups(run_folder(tmp_path / "run", rollouts=rows))
    assert (group.roles, group.rewards, group.malformed, group.flat) == (("worker", "tool"), (0.0, 1.0), 1, False)
    assert group.reasons == {"tool": {"bad": 1}}


def test_what_comes_from_files_is_text(tmp_path):
    rows = [reply(EVIL, c, 1.0, task=EVIL, level=EVIL, words=EVIL, malformed=True, note=EVIL) for c in range(3)]
    bad = metrics(lambda step: {f"{EVIL}/entropy": 1.0, "actor/malformed": 0.9, "groups/zero_variance/<i>x": 1.0})
    config = {"env": {"name": EVIL}, "workflow": {"name": EVIL}, "policies": {"kind": EVIL, "map": [EVIL]}}
    folder = run_folder(tmp_path / "run", bad, rollouts=rows, config=config)
    page = page_of(folder)
    assert not {"script", "img"} & set(page.tags)
    assert "<script>window.hacked" in page.text
    assert "\u202e" not in page.text


@pytest.mark.parametrize(
    "parts",
    [
        {"rows": [], "before": None, "after": None},
        {"rows": metrics(steps=1), "after": None},
        {"rows": [{k: v for k, v in row.items() if not k.startswith("validation")} for row in metrics()]},
        {"rows": [], "config": {"algo": {"name": "best_of_k"}}},
        {"rows": [{"step": 1}, {"step": 3}]},
        {"rows": [], "config": {"train": 3, "algo": None, "workflow": "x"}, "before": None, "after": None},
    ],
)
def test_whatever_a_run_left_behind_gives_a_page(tmp_path, parts):
    page = page_of(run_folder(tmp_path / "run", parts.pop("rows"), **parts))
    assert "Checked" in page.text or "Findings" in page.text


def test_a_torn_last_line_does_no_harm(tmp_path):
    folder = run_folder(tmp_path / "run", metrics(steps=5), after=None)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 6, "sample/suc')
    assert "Interrupted after step 5 of 20" in page_of(folder).text


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("config.yaml", ": [", "config.yaml is no YAML"),
        ("config.yaml", "- 1", "holds a list"),
        ("config.yaml", "{}", "is of no run of python -m mastrain: it has no algo, env, train"),
        ("config.yaml", "name: nano", "is of no run"),
        *(
            ("config.yaml", f"{{env: {{}}, algo: {{}}, train: {{{key}: {given}}}}}", f"config.yaml: train.{key} is ")
            for key in ("tasks", "validate_tasks", "steps")
            for given in (0, -1, ".nan", ".inf", "many", 10**400)
        ),
        ("config.yaml", f"{{env: {{}}, algo: {{alpha: {10**400}}}, train: {{}}}}", "config.yaml: algo.alpha is 1000"),
        ("before.json", "{}", "before.json holds no reports"),
        ("after.json", "{}", "after.json holds no reports"),
        ("metrics.jsonl", "no json\n", "metrics.jsonl, line 1"),
        ("metrics.jsonl", "[1]\n", "list instead of a JSON object"),
        ("metrics.jsonl", '{"step": 1}\n{"step": 1}\n', "line 2, field 'step': 1"),
        ("metrics.jsonl", '{"step": 0}\n', "field 'step': 0"),
        ("metrics.jsonl", '{"step": 1, "tool/entropy": "high"}\n', "line 1, field 'tool/entropy': 'high'"),
        ("metrics.jsonl", '{"step": 1, "tool/entropy": null}\n', "a number was expected"),
        ("metrics.jsonl", b"\xff\xfe\n", "metrics.jsonl, line 1"),
        ("before.json", "{", "before.json holds no reports"),
        ("before.json", "[]", "before.json holds no reports"),
        ("before.json", '{"sampled": 1}', "before.json holds no reports"),
        ("after.json", '{"sampled": {"success": 1}}', "after.json holds no reports"),
        ("after.json", b"\xff\xfe", "after.json holds no reports"),
        ("rollouts.jsonl", '{"group": 1}\n', "rollouts.jsonl, line 1, field "),
        ("rollouts.jsonl", json.dumps({**reply("g", 0, 1.0), "reward": "x"}) + "\n", "field 'reward'"),
    ],
)
def test_damaged_files_are_one_line_and_status_2(tmp_path, capsys, name, content, says):
    folder = run_folder(tmp_path / "run")
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main([str(folder)]) == 2
    told = capsys.readouterr().err
    assert told.startswith("mastrain.report: ")
    assert told.count("\n") == 1
    assert says in told
    assert not list(folder.glob("*.html"))


def test_what_is_no_run_or_cannot_be_written_is_told(tmp_path, capsys):
    assert main([str(tmp_path / "none")]) == 2
    assert "none does not exist" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 2
    assert "is no run folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    folder = run_folder(tmp_path / "run")
    assert main([str(folder), "--out", str(tmp_path / "no" / "page.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    (tmp_path / "taken").mkdir()
    assert main([str(folder), "--out", str(tmp_path / "taken")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_command_writes_into_the_run_without_torch(tmp_path):
    folder = run_folder(tmp_path / "run")
    code = (
        "import sys; from mastrain.report.__main__ import main; main([sys.argv[1]]); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"written: {folder / 'report.html'}\n"), done.stderr


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, (0, 1)),
        (0, 0, (0, 1)),
        (0, 7.3, (0, 8)),
        (-0.4, 1, (-0.5, 1.5)),
        (0.999, 1.001, (0.999, 1.001)),
        (1, 1, (0.5, 1.5)),
    ],
)
def test_scales_have_short_numbers(low, high, expected):
    found = nice(low, high)
    assert found[0] <= low
    assert found[1] >= high
    assert found == pytest.approx(expected, abs=0.0011)


def test_long_runs_are_thinned():
    points = [(step, float(step)) for step in range(1, 1001)]
    found = thin(points)
    assert len(found) == 200
    assert found[0] == (5, 3.0)
    assert thin(points[:100]) == points[:100]


def test_in_a_browser(tmp_path, chromium):
    """It opens from disk, asks for nothing, follows the colour scheme, and a group's link opens its tree."""
    rows = metrics(lambda step: {"groups/zero_variance": 0.9, "tool/malformed": 0.2})
    folder = run_folder(tmp_path / "run", rows, rollouts=four_groups())
    path, troubles, papers = write_report(folder, tmp_path / "why.html"), [], []
    for scheme in ("light", "dark"):
        page = chromium.new_page(viewport={"width": 1300, "height": 800}, color_scheme=scheme)
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: troubles.append(asked.url) if asked.url != path.as_uri() else None)
        page.goto(path.as_uri())
        papers.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        cards = page.locator(".card")
        assert [cards.nth(i).get_attribute("class") for i in range(cards.count())] == ["card fault", "card warning"]
        assert page.locator(".verdict").inner_text() == "It learned: 30.0 to 60.0 %"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert troubles == []
        if scheme == "light":
            page.close()
    assert papers[0] != papers[1]
    page.locator(".groups a").first.click()
    page.wait_for_selector("#detail .event.current")
    assert page.url.endswith("why-episodes.html#episode-1-event-0")
    assert page.inner_text("#detail h2").startswith("sokoban/train/1/11")
    page.close()
