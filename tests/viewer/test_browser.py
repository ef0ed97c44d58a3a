"""The page in a browser: open, filter, sort, unfold, step with the keyboard; model's words; thousands of episodes."""

import json

import pytest
from run_folders import EVIL, episode, evaluated, event, rollout, sampled_tree, trained

from masgym.viewer import write_page

TASK = "#detail h2"


def three():
    return [
        episode(0),
        episode(1, success=False, ended="T", level="hard", bad=["actor_0"]),
        episode(2, success=False, ended="timeout", level="hard", events=[event(1, "judge_0", "approve")]),
    ]


@pytest.fixture
def page(tmp_path, visit):
    return visit(write_page(evaluated(tmp_path / "run", three()), tmp_path / "run.html"))


def listed(page):
    return page.locator("#rows .row").count()


def test_the_first_episode_is_open(page):
    assert page.title() == "run | masgym"
    assert listed(page) == 3
    assert page.inner_text("#count") == "3 of 3 episodes, 33.3 % solved"
    assert page.inner_text(TASK).startswith("sokoban/test/0/")
    assert page.locator("#detail .event").count() == 2
    detail = page.inner_text("#detail")
    for text in ("reply 0", "print('R')", "R from the program", "The Weavers", "format", "+0.1"):
        assert text in detail


def test_boards_are_drawn(page):
    events = page.locator("#detail .event")
    assert events.nth(0).locator(".board").count() == 1
    before, after = (events.nth(1).locator(".board").nth(i) for i in (0, 1))
    for board in (before, after):
        assert board.locator(".wall").count() == 16
        assert (board.locator(".box").count(), board.locator(".goal").count()) == (1, 1)
    assert after.locator(".changed").count() == 3
    assert after.get_attribute("aria-label") == "###### / #----# / #-@$.# / ######"


def test_filters(page):
    def choose(name, option, expected):
        page.select_option(f"#{name}", option)
        assert listed(page) == expected, (name, option)

    choose("outcome", "failed", 2)
    choose("outcome", "timeout", 1)
    assert page.inner_text(TASK).startswith("sokoban/test/2/")
    choose("outcome", "", 3)
    choose("malformed", "with", 1)
    assert page.inner_text(TASK).startswith("sokoban/test/1/")
    choose("role", "tool", 0)  # none of the tool's replies is malformed
    assert "No episode" in page.inner_text("#detail")
    choose("role", "actor", 1)
    assert "dimmed" in page.locator("#detail [data-role=tool]").first.get_attribute("class")
    choose("malformed", "", 2)
    choose("role", "", 3)
    choose("level", "hard", 2)
    page.fill("#words", "BLOCKED")
    assert listed(page) == 1


def test_sorting(page):
    page.locator("#columns button", has_text="level").click()
    assert page.locator("#rows .row").first.inner_text().split("\n")[0] == "solved"
    page.locator("#columns button", has_text="level").click()
    assert page.locator("#rows .row").last.inner_text().split("\n")[0] == "solved"
    assert page.locator("#columns [aria-sort=descending]").count() == 1


def test_the_keyboard_steps_through_episodes_and_events(page):
    def press(*keys):
        for key in keys:
            page.keyboard.press(key)

    def current():
        return page.evaluate("[...document.querySelectorAll('#detail .event')].findIndex((e) => e.matches('.current'))")

    press("j", "ArrowDown", "j")
    assert page.inner_text(TASK).startswith("sokoban/test/2/")
    press("k", "ArrowUp")
    assert page.inner_text(TASK).startswith("sokoban/test/0/")
    press("Enter")
    assert current() == 0
    press("j", "j")
    assert current() == 1
    press("ArrowUp")
    assert current() == 0
    assert not page.locator("#detail .event.current").get_by_text("Turn 1 of 8.").is_visible()
    press("o")
    assert page.locator("#detail .event.current").get_by_text("Turn 1 of 8.").is_visible()
    press("o")
    assert not page.locator("#detail .event.current").get_by_text("Turn 1 of 8.").is_visible()
    press("Escape")
    assert current() == -1
    press("j", "/", "h", "a", "r", "j")
    assert page.input_value("#words") == "harj"
    assert page.inner_text("#count").startswith("0 of 3")
    press("Backspace", "d", "Escape", "j")
    assert page.input_value("#words") == "hard"
    assert page.inner_text(TASK).startswith("sokoban/test/2/")


def test_a_prompt_is_unfolded_with_the_mouse(page):
    first = page.locator("#detail .member").first
    first.get_by_text("what it saw").click()
    first.get_by_text("system", exact=True).click()
    assert first.get_by_text("You push boxes.").is_visible()


def test_what_a_model_wrote_is_text(tmp_path, visit):
    tool = {"tool": EVIL, "arguments": {"program": EVIL}, "outcome": EVIL, "value": {"stdout": EVIL, "error": EVIL}}
    odd = [{"passages": [{"contents": EVIL}, EVIL, None, 3]}, None, {"answers": [{"value": EVIL}]}, [EVIL]]
    tools = [tool, *({**tool, "tool": None, "value": value} for value in odd)]
    evil = event(1, "tool_0", EVIL, note=EVIL, tools=tools, **{EVIL: 0.5})
    evil["before"] = evil["members"][0]["messages"][1]["content"] = EVIL
    rows = [episode(0, events=[evil], task=EVIL, level=EVIL, ended=EVIL, success=False, bad=[EVIL])]
    page = visit(write_page(evaluated(tmp_path / "run", rows), tmp_path / "run.html"))
    page.keyboard.press("Enter")
    page.keyboard.press("o")
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main svg[onload]").count() == 0
    assert page.evaluate("[...document.querySelectorAll('b')].every((node) => node.textContent !== 'bold')")
    said = page.locator("#detail .reply").first.inner_text()
    assert said.startswith("</script><script>window.hacked = 1</script><img src=x onerror=")
    assert "U+2028 U+202Egnp \U0001f600 U+D800 U+0000" in said
    assert "cannot be drawn" not in page.inner_text("#detail")


SEEN_AS_IT_IS = """() => {
  const odd = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]|\\p{Cs}/u;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (node.parentElement.closest("script, style") || ["SCRIPT", "STYLE"].includes(node.nodeName)) continue;
    const read = (name) => node.getAttribute(name) ?? "";
    const texts = node.nodeType === 3 ? [node.data] : [read("title"), read("aria-label")];
    found.push(...texts.filter((text) => odd.test(text)));
  }
  return found;
}"""


def evil_event():
    made = event(1, EVIL, EVIL, note=EVIL, **{EVIL: 0.5})
    made["members"][0] |= {"slot": EVIL, "failure": ""}
    made["members"][0]["messages"] = [{"role": EVIL, "content": EVIL}, {"role": "system", "content": EVIL * 5}]
    made["judged"][EVIL]["tools"] = [{"tool": EVIL, "outcome": EVIL, "arguments": {EVIL: EVIL}, "value": {EVIL: EVIL}}]
    return made | {"before": EVIL, "after": EVIL}


def evil_tree():
    more = {
        "level": EVIL,
        "ended": EVIL,
        "note": EVIL,
        "policy": EVIL,
        "version": EVIL,
        "finish": EVIL,
        "malformed": True,
    }
    rows = [rollout(0, EVIL, c, chosen=not c, reward=c, advantage=c, reply=EVIL, **more) for c in (0, 1)]
    own = {"task": EVIL, "terms": {EVIL: 0.5}, "prompt": [{"role": EVIL, "content": EVIL}], "tools": [{EVIL: EVIL}, 3]}
    return [{**row, **own} for row in rows]


def test_everything_in_a_run_is_text_and_its_unseen_characters_are_named(tmp_path, visit):
    """Agents, levels, outcomes, terms, tools, settings, the folder; in the table, the filters, and what is unfolded."""
    folder = evaluated(
        tmp_path / "\u202e<b>run", [episode(0, success=False, task=EVIL, level=EVIL, ended=EVIL, events=[evil_event()])]
    )
    facts = ("environment", "split", "task_hash", "sandbox", "masgym")
    (folder / "run.json").write_text(
        json.dumps({**dict.fromkeys(facts, EVIL), "agents": {EVIL: EVIL}, "settings": [EVIL]})
    )
    trained(folder, evil_tree())
    page = visit(write_page(folder, tmp_path / "run.html"))
    for _ in range(2):
        page.keyboard.press("Enter")
        page.keyboard.press("o")
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img, main svg[onload], main b:has-text('bold') b").count() == 0
        assert page.evaluate(SEEN_AS_IT_IS) == []
        assert "</script><script>window.hacked = 1</script>" in page.inner_text("#detail")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
    assert page.locator("#level option").nth(1).inner_text().startswith("</script>")
    assert "U+202E" in page.inner_text("header h1")


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString"])
def test_names_that_mean_something_to_javascript(tmp_path, visit, name):
    made = event(1, name, "R", **{name: 0.5})
    rows = [episode(0, task=f"{name}/test/0/0", level=name, ended=name, success=False, events=[made])]
    folder = trained(
        evaluated(tmp_path / "run", rows), [{**row, "agent": name, "task": name} for row in sampled_tree()]
    )
    page = visit(write_page(folder, tmp_path / "run.html"))
    assert listed(page) == 2
    for _ in range(2):
        assert "cannot be drawn" not in page.inner_text("#detail")
        assert name in page.inner_text("#detail")
        page.keyboard.press("j")


def test_a_failed_reply_shows_what_was_told_of_it_and_a_cut_one_that_it_was(tmp_path, visit):
    lost, short = event(1, "tool_0", f"Error 400: {EVIL}"), event(1, "actor_0", "I think that")
    lost["members"][0] |= {"failure": "bad_request"}
    lost["judged"] = {}
    short["members"][0] |= {"cut": True}
    rows = [episode(0, events=[short]), episode(1, events=[lost], ended="bad_request", success=False)]
    rows[0]["cut"] = 1
    page = visit(write_page(evaluated(tmp_path / "run", rows), tmp_path / "run.html"))
    assert page.locator("#detail .member .badge").first.inner_text() == "cut off"
    assert "cut off" in page.inner_text("#columns")
    page.locator("#rows .row").nth(1).click()
    said = page.inner_text("#detail .member")
    assert "no reply bad_request" in said
    assert "Error 400: </script><script>window.hacked = 1" in said
    assert page.locator("#detail .member .badge").all_inner_texts() == ["no reply"]
    assert page.evaluate("window.hacked") is None
    sampled = [{**row, "finish": "length" if row["chosen"] else "stop"} for row in sampled_tree()]
    page = visit(write_page(trained(tmp_path / "tree", sampled), tmp_path / "tree.html"))
    page.keyboard.press("Enter")
    page.keyboard.press("o")
    assert page.locator(".candidate.chosen .sample .badge").all_text_contents() == ["cut off"] * 2
    assert page.locator(".candidate:not(.chosen) .badge").count() == 0


def test_very_long_texts(tmp_path, visit):
    """A reply of a megabyte, one word, and a board without end: the page stays small until one asks for more."""
    made = [event(1, "tool_0", "x" * 10**6), event(1, "actor_0", "```" * 10**5)]
    made[0]["before"] = made[0]["after"] = "#" * 60 + ("\n" + "#" * 60) * 20_000
    page = visit(write_page(evaluated(tmp_path / "run", [episode(0, events=made)]), tmp_path / "run.html"))
    assert page.locator("#detail .event").first.locator(".board").count() == 0
    assert len(page.inner_text("#detail")) < 100_000
    assert page.evaluate("document.querySelectorAll('#detail *').length") < 1000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_text("show all 1000000 characters").click()
    assert len(page.locator("#detail .reply").first.inner_text()) == 10**6


def test_the_security_policy_stops_what_gets_out(tmp_path, chromium):
    """Were something parsed as markup after all, it would not run."""
    path, refused = write_page(evaluated(tmp_path / "run", three()), tmp_path / "run.html"), []
    page = chromium.new_page()
    page.on("console", lambda said: refused.append(said.text))
    page.goto(path.as_uri())
    ran = page.evaluate(
        "() => { document.body.insertAdjacentHTML('beforeend', '<img src=data:x onerror=\"window.hacked = 1\">');"
        "return new Promise((done) => setTimeout(() => done(window.hacked ?? null), 300)); }"
    )
    page.close()
    assert ran is None
    assert any("Content Security Policy" in text for text in refused)


def test_an_episode_that_cannot_be_drawn_is_shown_as_it_is(tmp_path, visit):
    page = visit(write_page(evaluated(tmp_path / "run", [episode(1), episode(2)]), tmp_path / "run.html"))
    page.evaluate("document.getElementById('episode-1').textContent = '{\"events\": 3}'")
    page.keyboard.press("j")
    assert "cannot be drawn" in page.inner_text("#detail")
    assert '{"events": 3}' in page.inner_text("#detail")
    page.keyboard.press("k")
    assert "cannot be drawn" not in page.inner_text("#detail")


def test_a_training_episode_is_a_tree(tmp_path, visit):
    page = visit(write_page(trained(tmp_path / "run", sampled_tree()), tmp_path / "run.html"))
    events = page.locator("#detail .event")
    assert events.count() == 2
    assert events.nth(0).locator(".candidate.chosen").inner_text().split() == ["0.75", "+1", "tool", "says", "R"]
    assert events.nth(1).locator(".candidate.chosen .brief").inner_text() == "go R"
    assert events.nth(1).locator(".candidate.best .reward").inner_text() == "2"
    assert events.nth(0).locator(".board .box").count() == 1
    assert page.locator(".overview circle").count() == 5
    assert page.locator(".overview path.path").count() == 2
    page.locator(".overview circle").nth(3).click()
    assert "current" in events.nth(1).get_attribute("class")
    evil = events.nth(1).locator(".candidate").nth(1)
    evil.locator("summary").first.click()
    assert evil.locator(".sample .reply").inner_text().startswith("</script><script>")
    assert page.evaluate("window.hacked") is None


def test_a_link_opens_an_episode_at_an_event(tmp_path, chromium):
    rows = [*sampled_tree(), *({**row, "task": "sokoban/train/1/11"} for row in sampled_tree())]
    path = write_page(trained(tmp_path / "run", rows), tmp_path / "run.html")
    page = chromium.new_page()
    page.goto(path.as_uri() + "#episode-1-event-1")
    assert page.inner_text(TASK).startswith("sokoban/train/1/11")
    assert "current" in page.locator("#detail .event").nth(1).get_attribute("class")
    page.evaluate("location.hash = '#episode-0'")
    page.wait_for_function("document.querySelector('#detail h2').textContent.startsWith('sokoban/train/0/00')")
    page.goto(path.as_uri() + "#episode-7")
    assert page.inner_text(TASK).startswith("sokoban/train/0/00")
    page.close()


def test_five_thousand_episodes(tmp_path, visit):
    rows = (
        episode(i, success=i % 3 == 0, level=("easy", "hard")[i % 2], bad=["actor_0"] * (i % 5 == 0))
        for i in range(5000)
    )
    page = visit(write_page(evaluated(tmp_path / "run", rows), tmp_path / "run.html"))
    assert page.inner_text("#count") == "5000 of 5000 episodes, 33.3 % solved"
    assert listed(page) < 60
    page.keyboard.press("End")
    assert page.inner_text(TASK).startswith("sokoban/test/4999/")
    assert listed(page) < 60
    for _ in range(20):
        page.keyboard.press("k")
    assert page.inner_text(TASK).startswith("sokoban/test/4979/")
    page.select_option("#malformed", "with")
    page.select_option("#level", "hard")
    assert page.inner_text("#count").startswith("500 of 5000")
    milliseconds = page.evaluate(
        "() => { const from = performance.now(); document.getElementById('filters').dispatchEvent(new Event('input'));"
        "document.body.offsetHeight; return performance.now() - from; }"
    )
    assert milliseconds < 2000  # about 15 on an idle core
