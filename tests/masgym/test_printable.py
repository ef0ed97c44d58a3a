"""What a model writes reaches no prompt and no terminal with characters that move the cursor or turn the text."""

import pytest

import masgym
from masgym.tags import printable

HOSTILE = "\x1b[31m\x07\u202e\x9b2J\u2028"
PROGRAM = f"```python\ndef f(*given):\n\t# {HOSTILE}\n\treturn 0\n```"
REPLIES = {
    "math": {"tool_0": rf"\boxed{{5{HOSTILE}}}", "actor_0": rf"\boxed{{6{HOSTILE}}}"},
    "code": {"tool_0": PROGRAM, "actor_0": PROGRAM},
    "search": {"tool_0": f"<search>the{HOSTILE}</search>", "actor_0": f"<answer>five{HOSTILE}</answer>"},
}


def test_what_is_not_printed_becomes_a_space() -> None:
    assert printable("a\x1bb\u202ec\td\n") == "a b c d "
    assert printable("a\x1bb\td\n", keep="\n\t") == "a b\td\n"
    assert printable("é π 数") == "é π 数"


@pytest.mark.parametrize("workflow", ["pair", "verify"])
@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("domain", REPLIES)
def test_prompts_and_pictures_hold_none(domain: str, style: str, workflow: str) -> None:
    env = masgym.make(domain, workflow, style=style, render_mode="ansi")
    env.reset(seed=0)
    for _ in range(4):
        env.step(REPLIES[domain].get(env.agent_selection, REPLIES[domain]["tool_0"]))
        shown = [env.render(), env.state(), *(env.observe(agent)["text"] for agent in env.possible_agents)]
        assert not {c for text in shown for c in text} & set(HOSTILE.replace("[31m", "").replace("2J", ""))
        if not env.agents or env.terminations[env.agent_selection]:
            break
