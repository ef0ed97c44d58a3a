"""`masgym.audit`: clean files are clean, and each fault, forged, is seen by its number with an example row."""

import json
import math
import random
import re
import time

import pytest

from masgym.audit import audit, text, to_json
from masgym.errors import BadFile

CHANCES = {"L": 0.5, "R": 0.3, "U": 0.15, "D": 0.05}  # of the next token; a reply has two


def centred(rewards):
    mean = sum(rewards) / len(rewards)
    return [r - mean for r in rewards]


def divided(rewards):
    deviation = math.sqrt(sum(c * c for c in centred(rewards)) / len(rewards))
    return [c / (deviation + 1e-6) if deviation else 0.0 for c in centred(rewards)]


def reply_of(rng, chances):
    return "".join(rng.choices(list(chances), list(chances.values()), k=2))


def tree(tasks=40, branches=6, turns=3, advantages=divided, seed=0, sampled=CHANCES):
    """A clean file: per task one playthrough, in each turn a tool and then an actor, `branches` candidates each."""
    rng = random.Random(seed)
    for task in range(tasks):
        told = f"start {task}"
        for turn in range(turns):
            for agent in ("tool_0", "actor_0"):
                event = f"task/{task}/{turn}/{agent}"
                replies = [reply_of(rng, sampled) for _ in range(branches)]
                rewards = [r.count("R") + rng.choice([0, 0.5]) for r in replies]
                chosen = rng.randrange(branches)
                for c, (r, reward, advantage) in enumerate(zip(replies, rewards, advantages(rewards), strict=True)):
                    yield {
                        "group": event,
                        "task": f"task/{task}",
                        "episode": f"task/{task}/0",
                        "event": event,
                        "agent": agent,
                        "turn": turn,
                        "prompt": f"Turn {turn + 1} of 3.\n{told}",
                        "reply": r,
                        "reward": reward,
                        "advantage": advantage,
                        "tokens": ["LRUD".index(move) for move in r],
                        "logps": [math.log(CHANCES[move]) for move in r],
                        "terms": {"legal": float(r[0] != "D"), "goal": float("R" in r)},
                        "chosen": c == chosen,
                    }
                told += f" {agent} said {replies[chosen]}."


def flat(tasks=30, episodes=6, turns=2):
    """A clean file of flat playthroughs: groups by task, agent and turn, in which prompts differ."""
    rows, rng = [], random.Random(1)
    for task in range(tasks):
        for episode in range(episodes):
            told = f"start {task}"
            for turn in range(turns):
                for agent in ("tool_0", "actor_0"):
                    reply = reply_of(rng, CHANCES)
                    rows.append(
                        {
                            "group": f"{task}/{agent}/{turn}",
                            "task": task,
                            "episode": episode,
                            "event": f"{task}/{episode}/{turn}/{agent}",
                            "agent": agent,
                            "turn": turn,
                            "prompt": [{"role": "user", "content": told}],
                            "reply": reply,
                            "reward": reply.count("R") + 0.1 * (episode % 2),
                        }
                    )
                    told += f" {reply}"
    return with_advantages(rows, centred)


def sets(tasks=20, candidates=5):
    """A clean file of joint actions: two workers reply at once and are rewarded together."""
    rng, rows = random.Random(2), []
    for task in range(tasks):
        for c in range(candidates):
            replies, bonus = [reply_of(rng, CHANCES) for _ in range(2)], rng.choice([0, 1])
            reward = "".join(replies).count("R") + bonus
            for worker, reply in enumerate(replies):
                base = {"task": task, "agent": f"worker_{worker}", "turn": 0, "prompt": f"{task} for {worker}"}
                rows.append(base | {"group": task, "action": c, "event": task, "reply": reply, "reward": reward})
    return with_advantages(rows, divided)


def with_advantages(rows, form):
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], {}).setdefault(row.get("action", id(row)), []).append(row)
    for actions in groups.values():
        found = form([members[0]["reward"] for members in actions.values()])
        for members, advantage in zip(actions.values(), found, strict=True):
            for row in members:
                row["advantage"] = advantage
    return rows


def written(folder, rows):
    path = folder / "rollouts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def faults(found):
    return {finding.fault for finding in found.findings}


# --- clean files


@pytest.mark.parametrize("advantages", [divided, centred])
def test_a_clean_tree_is_clean(tmp_path, advantages):
    found = audit(written(tmp_path, tree(advantages=advantages)))
    assert found.ok, text(found)
    assert (found.rows, found.groups, found.tasks, found.episodes) == (40 * 3 * 2 * 6, 40 * 3 * 2, 40, 40)
    assert ("standard deviation" in found.advantage) == (advantages is divided)
    assert found.unchecked == (
        "whether a later speaker sees an earlier one: 5 tasks played several times, with first replies that differ "
        "are needed, 0 came",
    )
    assert found.agents == ("tool_0", "actor_0")


def test_clean_playthroughs_and_clean_sets_are_clean(tmp_path):
    for rows in (flat(), sets()):
        found = audit(written(tmp_path, rows))
        assert found.ok, text(found)
        assert any("logps" in why for why in found.unchecked)


@pytest.mark.parametrize(
    ("scale", "name"),
    [
        (lambda n, deviation: n / (n - 1), "mean of the others"),
        (lambda n, deviation: 1 / (deviation * math.sqrt(n / (n - 1)) + 1e-4), "n - 1"),
    ],
)
def test_other_forms_of_the_advantage_are_recognised(tmp_path, scale, name):
    def form(rewards):
        deviation = math.sqrt(sum(c * c for c in centred(rewards)) / len(rewards))
        return [c * scale(len(rewards), deviation) if deviation else 0.0 for c in centred(rewards)]

    found = audit(written(tmp_path, tree(advantages=form)))
    assert found.ok, text(found)
    assert name in found.advantage


def over_the_file(rows, scaled):
    rows = list(rows)
    rewards = [row["reward"] for row in rows]
    made = divided(rewards) if scaled else centred(rewards)
    return [row | {"advantage": a} for row, a in zip(rows, made, strict=True)]


def over_batches(rows, size=240):
    rows = list(rows)
    return [row for i in range(0, len(rows), size) for row in over_the_file(rows[i : i + size], False)]


def clipped(rows):
    return (row | {"advantage": min(max(row["advantage"], -1.2), 1.2)} for row in rows)


def rounded(rows):
    return (row | {"advantage": round(row["advantage"], 2)} for row in rows)


@pytest.mark.parametrize(
    ("finished", "form"),
    [
        (clipped, "group's standard deviation"),
        (rounded, "group's standard deviation"),
        (lambda rows: clipped(rounded(rows)), "group's standard deviation"),
        (lambda rows: over_the_file(rows, False), "mean of a batch"),
        (lambda rows: rounded(over_the_file(rows, False)), "mean of a batch"),
        (over_batches, "mean of a batch"),
        (lambda rows: over_the_file(rows, True), "standard deviation of all"),
    ],
)
def test_what_trainers_rightly_do_to_advantages_is_no_fault(tmp_path, finished, form):
    found = audit(written(tmp_path, finished(tree())))
    assert found.ok, text(found)
    assert form in found.advantage


def zeros(rows):
    return (row | {"advantage": 0.0} for row in rows)


def zeros_in_one_group(rows):
    return (row | ({"advantage": 0.0} if i < 6 else {}) for i, row in enumerate(rows))


def one_group_turned(rows):
    return (row | ({"advantage": -row["advantage"]} if i < 6 else {}) for i, row in enumerate(rows))


@pytest.mark.parametrize(
    ("forge", "title"),
    [
        (lambda rows: turned_sign(rows), "advantages have the wrong sign"),
        (lambda rows: rounded(clipped(turned_sign(rows))), "advantages have the wrong sign"),
        (one_group_turned, "advantages have the wrong sign"),
        (zeros, "advantages are all 0"),
        (zeros_in_one_group, "advantages are all 0"),
        (lambda rows: rounded(not_centred(rows)), "advantages do not fit the rewards"),
        (lambda rows: rounded(clipped(advantages_of_another_group(rows))), "advantages do not fit the rewards"),
    ],
)
def test_wrong_advantages_are_named_as_what_they_are(tmp_path, forge, title):
    found = audit(written(tmp_path, forge(tree())))
    assert {finding.name for finding in found.findings} >= {title}, text(found)
    assert faults(found) == {None}
    if title != "advantages do not fit the rewards":
        assert len(found.findings) == 1, text(found)


# --- faults


def later_prompts_from_another_copy(rows):
    for row in rows:
        if row["turn"] and row["agent"] == "actor_0":
            row["prompt"] += f" {row['reply']}"
        yield row


def one_reward_for_the_tool(rows):
    return with_advantages([row | ({"reward": 1.0} if row["agent"] == "tool_0" else {}) for row in rows], divided)


def tasks_in_one_group(rows):
    """Candidates of a group are of one agent and turn, and of two tasks."""
    joined = [row | {"group": f"{int(row['task'][5:]) // 2}/{row['turn']}/{row['agent']}"} for row in rows]
    return with_advantages(joined, divided)


def start_position(rows):
    board = "#####\n#.$@#\n#####"
    return (row | {"prompt": f"Turn {row['turn'] + 1}\n\n{board}\n\nYou said: {row['turn'] * 'R'}"} for row in rows)


def only_the_counter_moves(rows):
    return (row | {"prompt": f"Turn {row['turn'] + 1} of 3: task {row['task']} for {row['agent']}"} for row in rows)


def positive_logps(rows):
    return (row | {"logps": [0.1, *row["logps"][1:]]} for row in rows)


def infinite_logps(rows):
    return (row | {"logps": [-math.inf, *row["logps"][1:]]} for row in rows)


def too_few_logps(rows):
    return (row | {"logps": row["logps"][1:]} for row in rows)


def unnormalised_logps(rows):
    return (row | {"logps": [logp / 3 for logp in row["logps"]]} for row in rows)


def failed_generations(rows):
    return (row | ({"reply": "", "tokens": [], "logps": []} if i == 7 else {}) for i, row in enumerate(rows))


def a_term_never_set(rows):
    return (row | {"terms": {**row["terms"], "potential": 0.0}} for row in rows)


def seeds_that_do_not_arrive(rows):
    return (row | {"task": "task/0"} for row in rows)


def mixed_agents(rows):
    return with_advantages([row | {"group": f"{row['task']}/{row['turn']}"} for row in rows], divided)


def last_turns_only(rows):
    return (row for row in rows if row["turn"] == 2)


def advantages_of_another_group(rows):
    rows = list(rows)
    return (row | {"advantage": rows[(i + 6) % len(rows)]["advantage"]} for i, row in enumerate(rows))


def not_centred(rows):
    return (row | {"advantage": row["reward"]} for row in rows)


def turned_sign(rows):
    return (row | {"advantage": -row["advantage"]} for row in rows)


FORGED = [
    (later_prompts_from_another_copy, {1}),
    (one_reward_for_the_tool, {2}),
    (tasks_in_one_group, {3}),
    (start_position, {5}),
    (only_the_counter_moves, {5}),
    (positive_logps, {6}),
    (infinite_logps, {6}),
    (too_few_logps, {6}),
    (unnormalised_logps, {6}),
    (failed_generations, {7}),
    (a_term_never_set, {9}),
    (seeds_that_do_not_arrive, {10}),
    (mixed_agents, {13}),
    (last_turns_only, {13}),
    (advantages_of_another_group, {None}),
    (not_centred, {None}),
    (turned_sign, {None}),
]


@pytest.mark.parametrize(("forge", "numbers"), FORGED, ids=lambda given: getattr(given, "__name__", ""))
def test_a_forged_fault_is_seen_and_no_other(tmp_path, forge, numbers):
    path = written(tmp_path, forge(tree()))
    found = audit(path)
    assert faults(found) == numbers, text(found)
    rows = path.read_text().splitlines()
    for finding in found.findings:
        assert finding.lines
        assert all(1 <= line <= len(rows) for line in finding.lines)
        assert finding.name in text(found)
        assert finding.says in text(found)
    assert json.loads(json.dumps(to_json(found)))["ok"] is False


def test_what_was_sampled_must_go_with_the_log_probs(tmp_path):
    """Sampled among the two likeliest tokens, while log-probs are those of all four."""
    found = audit(written(tmp_path, tree(sampled={"L": 0.625, "R": 0.375})))
    assert faults(found) == {6}
    assert re.search(r"choose the same next token in \d\d % of cases, by their log-probs in \d\d %", text(found))


def test_a_later_speaker_that_is_told_nothing_is_seen(tmp_path):
    def blind(rows):
        for row in rows:
            if row["agent"] == "actor_0" and row["turn"] == 0:
                row["prompt"] = [{"role": "user", "content": f"start {row['task']}"}]
            yield row

    found = audit(written(tmp_path, blind(flat())))
    assert faults(found) == {2}
    assert "whatever was said before" in text(found)


def test_members_of_a_set_share_their_reward(tmp_path):
    rows = sets()
    rows[0]["reward"] += 1
    assert faults(audit(written(tmp_path, rows))) == {None}
    assert "members of 1 actions" in text(audit(written(tmp_path, rows)))


def test_sets_of_several_playthroughs_may_differ_in_their_members(tmp_path):
    """A router chose them."""
    rows = [row | {"episode": row["action"]} for row in sets() if row["action"] % 2 or row["agent"] == "worker_0"]
    found = audit(written(tmp_path, rows))
    assert found.ok, text(found)


def test_candidates_of_several_playthroughs_need_the_field_episode(tmp_path):
    rows = [{key: x for key, x in row.items() if key != "episode"} for row in flat()]
    found = audit(written(tmp_path, rows))
    assert found.ok, text(found)
    assert "give 'episode'" in text(found)
    assert any("'episode'" in why for why in found.unchecked)


def test_replies_that_are_all_malformed_are_no_fault_of_the_trainer(tmp_path):
    """They rightly earn one reward and no term, and nothing moves; without the field nobody can know."""
    rows = list(tree())
    for row in rows:
        row.update(reward=-0.5, advantage=0.0, terms={"legal": 0.0})
        row["prompt"] = f"Turn {row['turn'] + 1} of 3: task {row['task']} for {row['agent']}"
    assert faults(audit(written(tmp_path, rows))) == {2, 5, 9}
    found = audit(written(tmp_path, [row | {"malformed": True} for row in rows]))
    assert found.ok, text(found)


def test_among_malformed_replies_faults_of_the_others_are_seen(tmp_path):
    """A quarter of the replies is malformed, among them no last one of a turn."""

    def some(rows):
        return [row | {"malformed": row["agent"] == "tool_0" and row["line"] % 2 == 0} for row in rows]

    for forge, numbers in ((one_reward_for_the_tool, {2}), (only_the_counter_moves, {5}), (a_term_never_set, {9})):
        rows = [row | {"line": line} for line, row in enumerate(forge(tree()))]
        assert faults(audit(written(tmp_path, some(rows)))) == numbers


def test_a_later_speaker_need_not_see_which_malformed_reply_it_was(tmp_path):
    """Nor what the first speaker said where it always says the same, whatever the team earned afterwards."""
    changes = [{"malformed": True}, {"reply": "L"}]
    for change in changes:
        rows = []
        for row in flat(turns=1):
            told = f"start {row['task']} is over" if row["agent"] == "actor_0" else f"start {row['task']}"
            own = change if row["agent"] == "tool_0" else {}
            rows.append(row | {"prompt": told} | own)
        found = audit(written(tmp_path, rows))
        assert found.ok, text(found)


def test_prompts_of_one_event_must_not_differ_though_no_episode_is_given(tmp_path):
    rows = [row | {"episode": None} for row in later_prompts_from_another_copy(tree())]
    assert faults(audit(written(tmp_path, rows))) == {1}


def test_checks_with_too_few_rows_say_so(tmp_path):
    """Every one of these faults is in the file, which is too short to call it one."""
    rows = list(tree(tasks=2, turns=2))
    for row in rows:
        row.update(reward=1.0, advantage=0.0, terms={"legal": 0.0}, prompt=f"task {row['task']} for {row['agent']}")
    found = audit(written(tmp_path, rows))
    assert found.ok
    for why in (
        "whether rewards of tool_0 vary: 8 groups with different replies are needed, 4 came",
        "whether prompts of actor_0 move: 5 later prompts of it are needed, 2 came",
        "whether the term 'legal' of tool_0 is always 0: 100 replies of it are needed, 24 came",
        "whether log-probs go with what was sampled: 30 prompts with several replies are needed, 8 came",
        "whether a later speaker sees an earlier one: 5 tasks",
    ):
        assert any(why in told for told in found.unchecked), (why, found.unchecked)
    assert text(found).endswith("is in it, as far as it could be looked at")
    late = [row for row in tree(tasks=2) if row["turn"] == 2]
    says = "whether all turns are kept: 5 episodes beyond the first turn are needed, 2 came"
    assert says in audit(written(tmp_path, late)).unchecked


def test_a_title_names_its_one_fault(tmp_path):
    for forge, title in (
        (mixed_agents, "groups mix agents"),
        (last_turns_only, "only last turns are kept"),
        (one_reward_for_the_tool, "tool_0's rewards never vary"),
    ):
        found = audit(written(tmp_path, forge(tree())))
        assert [finding.name for finding in found.findings] == [title]
        assert f"\nfault: {title}\n" in text(found)


# --- bad files

ROW = {"group": 1, "task": 1, "agent": "a", "turn": 0, "prompt": "p", "reply": "r", "reward": 1, "advantage": 0}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no json", "line 2"),
        ("[1]", "line 2"),
        ('{"group": 1' + "[" * 100_000, "line 2"),
        *((json.dumps({k: x for k, x in ROW.items() if k != name}), f"line 2, field '{name}'") for name in ROW),
        *(
            (json.dumps({**ROW, name: bad}), f"line 2, field '{name}'")
            for name, bad in [
                ("group", 1.5),
                ("group", True),
                ("task", ["a"]),
                ("agent", 3),
                ("turn", -1),
                ("turn", 0.5),
                ("prompt", 3),
                ("prompt", [{"role": "user"}]),
                ("reply", None),
                ("reward", "1"),
                ("reward", math.nan),
                ("reward", 10**400),
                ("advantage", math.inf),
                ("advantage", True),
                ("episode", {}),
                ("action", 0.5),
                ("tokens", ["a"]),
                ("tokens", [2**70]),
                ("logps", "x"),
                ("logps", ["-1"]),
                ("terms", {"a": "b"}),
                ("chosen", 1),
                ("malformed", "no"),
            ]
        ),
    ],
    ids=lambda given: given[:60],
)
def test_a_bad_line_is_told_with_line_and_field(tmp_path, line, says):
    path = tmp_path / "rollouts.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + line + "\n")
    with pytest.raises(BadFile) as told:
        audit(path)
    assert says in str(told.value)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


def test_files_that_are_none_are_told(tmp_path):
    for path, content in ((tmp_path / "none", None), (tmp_path / "empty", b""), (tmp_path / "bytes", b"\xff\xfe\n")):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(BadFile) as told:
            audit(path)
        assert str(path) in str(told.value)


def test_odd_values_are_data(tmp_path):
    rows = [
        ROW | {"prompt": "\ud800", "reply": "\u2028</script>", "agent": "\x1b[31ma", "reward": 1e99, "logps": [None]},
        ROW | {"prompt": "\ud800", "reply": "", "reward": -1e99, "advantage": 5, "logps": [10**400], "tokens": [1]},
        ROW | {"group": "other", "x": [], "reply": "\x00"},
    ]
    found = audit(written(tmp_path, rows))
    assert 6 in faults(found)
    assert "\x1b" not in text(found)


def test_a_large_file_takes_seconds(tmp_path):
    block = written(tmp_path, tree()).read_text()
    path = tmp_path / "large.jsonl"
    path.write_text("".join(block.replace('"task/', f'"{copy}/task/') for copy in range(70)))
    started = time.process_time()
    found = audit(path)
    assert found.rows == 100_800
    assert found.ok, text(found)
    assert time.process_time() - started < 20  # about 5 on an idle core
