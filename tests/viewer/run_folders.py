"""Run folders made by hand, for the viewer's tests."""

import json

BOARD = "######\n#-@--#\n#-$-.#\n######"
AFTER = "######\n#----#\n#-@$.#\n######"
SYSTEM = "You push boxes. " * 20
EVIL = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    '"><svg onload="window.hacked = 1"> <!-- <b>bold</b> &amp; \u2028 \u202egnp \U0001f600 \ud800 \x00 ]]>'
)


def member(agent, reply, failure=""):
    return {
        "agent": agent,
        "slot": "tool" if agent.startswith("tool") else "act",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"Turn 1 of 8.\n\n{BOARD}"}],
        "reply": reply,
        "failure": failure,
        "tokens": 7,
        "prompt_tokens": 90,
        "latency": 0.25,
    }


def judged(malformed=False, note="R", tools=(), **terms):
    return {
        "tools": list(tools),
        "malformed": malformed,
        "note": note,
        "right": not malformed,
        "done": False,
        "terms": {"format": 0.1, "legal": 0.0, **terms},
        "penalty": -0.5 if malformed else 0.0,
    }


def event(turn, agent, reply, after=BOARD, **verdict):
    return {
        "turn": turn,
        "before": BOARD,
        "after": after,
        "team": 0.0,
        "gain": 0.25,
        "latency": 0.3,
        "members": [member(agent, reply)],
        "judged": {agent: judged(**verdict)},
    }


PROGRAM = {
    "tool": "python",
    "arguments": {"program": "print('R')", "stdin": ""},
    "outcome": "ok",
    "value": {"stdout": "R from the program\n", "error": ""},
}
SEARCH = {
    "tool": "search",
    "arguments": {"query": "a guild"},
    "outcome": "ok",
    "value": {"passages": [{"contents": "The Weavers\nA guild of Old Throgen.", "score": 4.5}]},
}


def episode(index, *, success=True, ended="done", level="easy", bad=(), events=None, task=None):
    """`bad`: agents whose reply was malformed."""
    made = [
        event(1, "tool_0", "```python\nprint('R')\n```", tools=[PROGRAM, SEARCH]),
        event(1, "actor_0", f"reply {index}", after=AFTER, malformed="actor_0" in bad, note="blocked" if bad else "D"),
    ]
    return {
        "task": task or f"sokoban/test/{index}/{index:012x}",
        "index": index,
        "sample": 0,
        "level": level,
        "optimum": 3,
        "success": success,
        "ended": ended,
        "turns": 1,
        "returns": 1.5,
        "event_count": 2,
        "replies": 2,
        "tool_calls": 2,
        "malformed": ["blocked"] if bad else [],
        "tokens": 14,
        "prompt_tokens": 180,
        "terms": {"actor_0/format": 0.1},
        "latency": 0.6,
        "events": made if events is None else events,
    }


def evaluated(folder, episodes):
    folder.mkdir(parents=True, exist_ok=True)
    run = {"environment": "masgym/sokoban_v0", "agents": {"*": EVIL}, "seed": 0, "task_hash": "ab" * 32, "game": {}}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in episodes))
    return folder


def rollout(turn, agent, candidate, *, chosen, reward, advantage, reply="R", **more):
    return {
        "step": 3,
        "group": f"0/{turn}/{agent}",
        "task": "sokoban/train/0/00",
        "level": "easy",
        "episode": "0/3/0/0",
        "event": f"0/{turn}/{agent}",
        "agent": agent,
        "turn": turn,
        "candidate": candidate,
        "chosen": chosen,
        "prompt": [{"role": "user", "content": f"{agent}\n{BOARD}\n"}],
        "reply": reply,
        "reward": reward,
        "advantage": advantage,
        "tokens": [1, 2],
        "logps": [-0.5, -0.5],
        "terms": {"format": 0.1},
        "penalty": 0.0,
        "malformed": False,
        "note": "R",
        "gain": 0.5,
        "ended": "",
        "solved": False,
        **more,
    }


def trained(folder, rows):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def sampled_tree():
    """Two events of two candidates each; it goes on along the second one, then along the first one."""
    return [
        rollout(0, "tool_0", 0, chosen=False, reward=0.25, advantage=-1.0, reply="tool says L"),
        rollout(0, "tool_0", 1, chosen=True, reward=0.75, advantage=1.0, reply="tool says R"),
        rollout(0, "actor_0", 0, chosen=True, reward=2.0, advantage=0.5, reply="go R", solved=True, ended="done"),
        rollout(0, "actor_0", 1, chosen=False, reward=1.0, advantage=-0.5, reply=EVIL, malformed=True, note="blocked"),
    ]
