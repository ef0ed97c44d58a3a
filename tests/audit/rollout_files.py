"""Clean files of rollouts, in the forms that trainers write."""

import json
import math
import random

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
