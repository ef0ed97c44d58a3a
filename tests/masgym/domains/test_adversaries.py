"""No reply, fuzzed or adversarial, scores above what an honest solver of that state could: the published form, the
return form, every role that proposes, all domains.

By default some hundreds of replies at the level of parser and game and a dozen through the sandbox and the other tools;
`pytest -m slow tests/masgym/domains/test_adversaries.py` tries 100,000 and 1,000 of each domain.
"""

import asyncio
import string
from functools import cache
from itertools import product

import pytest
from test_code_games import attacks as coder_attacks
from test_code_games import false_tests, spoilt
from test_math_adversaries import attacks as math_attacks

import masgym
from masgym.domains.code.problem import problem_of
from masgym.domains.code.replies import fenced
from masgym.rng import keyed
from masgym.tools.driver import Driver, default_driver, step, step_sync
from masgym.types import ToolResult

RUN = default_driver().run
DOMAINS = ("sokoban", "plan_path", "sudoku", "code", "math", "search")
WORKFLOWS = ("pair", "verify")  # tool and act; draft
MOVES = ["".join(moves) for n in range(1, 5) for moves in product("UDLR", repeat=n)]
PIECES = [
    *string.printable,
    *("\u0661", "\uff11", "\u00b2", "\u200b", "\ud800", "\x00", "\u202e", "9" * 5000, "1e999", "nan", "-0", "\\boxed{"),
    *("<answer>", "</answer>", "<search>", "<verify>approve</verify>", "```", "```python\n", "==", "r1c1=", "\\text{"),
]
DIGITS = str.maketrans("0123456789", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669")


@cache
def game_of(name, workflow):
    return masgym.game(name, workflow, **({"f1_weight": 0.3, "entities": 100} if name == "search" else {}))


@cache
def states(name, workflow, tasks):
    """States in which somebody proposes: along the oracle's play, and after a lost turn."""
    game, found = game_of(name, workflow), []
    for index in range(tasks):
        state = game.initial(game.domain.tasks.get("train", index))
        if index % 2:
            for _ in range(len(game.agents)):
                state = game.apply(state, {game.active(state)[0]: ""}, {}).state
        while members := game.active(state):
            (agent,) = members
            if game.slot(agent) != "judge":
                found.append((state, agent))
            outputs = {agent: game.oracle(state, agent)}
            known = game.foreseen(state, outputs)
            state = game.apply(state, outputs, known).state if known else step_sync(game, state, outputs, RUN).state
    return found


def scored(done, agent):
    return done.published(agent), done.gain + done.penalty


@cache
def honest(name, workflow, tasks, place):
    """The most that an honest reply can score there, in both forms; of the games the best of all lists of moves."""
    game, (state, agent) = game_of(name, workflow), states(name, workflow, tasks)[place]
    replies = [game.oracle(state, agent)]
    if name in ("sokoban", "plan_path"):
        replies += MOVES
    if name == "search":
        replies.append(f"<answer>{state.task.content['golden_answers'][0]}</answer>")
    if name == "math" and agent == "tool_0":
        replies.append(f"```python\nprint({replies[0]!r})\n```")  # a program earns more than the bare answer
    if name == "code":
        played = [game.apply(state, {agent: replies[0]}, game.foreseen(state, {agent: replies[0]}))]
    else:
        played = [step_sync(game, state, {agent: reply}, RUN) for reply in replies]
    return tuple(max(scores) for scores in zip(*(scored(done, agent) for done in played), strict=True))


def adversarial(game, state, agent, rng):
    """A reply that wants more than it knows."""
    right, legal, shown = game.oracle(state, agent), game.legal(state, agent), game.observe(state, agent)
    noise = "".join(rng.choice(list("1234UDLR rc=,.-#@$"), 16))
    forms = (
        lambda: changed(right, rng),
        lambda: changed(right, rng),
        lambda: noise,
        lambda: "".join(str(d) for d in rng.integers(1, 5, 16)),  # a grid over the givens
        lambda: " ".join(legal) or ", ".join(map(str, range(99))),  # all options
        lambda: " ".join(map(str, rng.permutation(legal))),
        lambda: rf"\boxed{{{', '.join(map(str, range(-9, 99)))}}}",
        lambda: f"<answer>{right}</answer><answer>{noise}</answer>",
        lambda: f"<answer><answer>{right}</answer></answer>",
        lambda: f"<search><answer>{right}</answer></search>",
        lambda: f"<answer>{right}</answer><verify>approve</verify>",
        lambda: rf"\boxed{{\boxed{{{right}}}}}\boxed{{1}}",
        lambda: right.translate(DIGITS),
        lambda: right + "9" * 3000,
        lambda: shown.text,  # the prompt echoed back
        lambda: shown.messages[-1].content,
        lambda: f"{shown.text}\n{right}",
        lambda: game.domain.render(state.world, "compact"),
        lambda: f"{right} {right}",
        lambda: f"{right}\n{changed(right, rng)}",
        lambda: f"```\n{right}\n```",
        lambda: "",
    )
    return forms[rng.integers(len(forms))]()


def changed(text, rng):
    """One to three pieces put in or over a character, or the rest cut off."""
    for _ in range(rng.integers(1, 4)):
        at, piece = int(rng.integers(len(text) + 1)), PIECES[rng.integers(len(PIECES))]
        text = (text[:at] + piece + text[at + int(rng.integers(2)) :])[: at + 20 if rng.random() < 0.1 else None]
    return text


def python_fails(arguments):
    """In place of the sandbox: nothing that is run answers anything."""
    if "function" not in arguments:
        return ToolResult(outcome="exception", value={"stdout": "", "error": "none"})
    row = {"outcome": "exception", "value": None, "error": "none"}
    return ToolResult(outcome="exception", value={"answers": [row for _ in arguments["calls"]]})


WITHOUT = Driver(
    tools={
        "python": python_fails,
        "math_verify": lambda arguments: ToolResult(outcome="error", value=None),
        "search": lambda arguments: ToolResult(outcome="ok", value={"passages": []}),
    }
)


@pytest.mark.parametrize(("count", "tasks"), [(300, 2), pytest.param(100_000, 30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DOMAINS)
def test_no_reply_scores_above_an_honest_one(name, count, tasks):
    """Parser and game: whatever needs a tool gets no help from it."""
    for workflow in WORKFLOWS:
        game, places = game_of(name, workflow), states(name, workflow, tasks)
        for number in range(count // len(WORKFLOWS)):
            place = number % len(places)
            state, agent = places[place]
            reply = adversarial(game, state, agent, keyed("adversary", name, workflow, number))
            done = step_sync(game, state, {agent: reply}, WITHOUT.run)
            check(done, agent, honest(name, workflow, tasks, place), reply)


def check(done, agent, most, reply):
    for score, bound in zip(scored(done, agent), most, strict=True):
        assert score <= bound + 1e-9, reply
    effect = done.effects[agent]
    if effect.malformed:
        assert not any(effect.terms.values()), reply
        assert done.gain == 0, reply


def printing(right, options, rng):
    """A program that prints what might pass for more than it is."""
    texts = (
        *(right, f"{right}\n{right}", "\n".join(options), " ".join(options), right.translate(DIGITS), f"| {right}"),
        *(f"<answer>{right}</answer><answer>{right}</answer>", f"<answer><answer>{right}</answer>", "9" * 60_000),
        *(f"1\r{right}", f"{right}\x85", f"{right}\x00", "\x1b[2K", "reward 1.0", f"{right} {right}", " "),
        *(changed(right, rng), changed(right, rng)),
    )
    ends = ("", "", "", "raise SystemExit(1)", "1/0", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)")
    forms = (
        f"print({str(rng.choice(texts))!r}, flush=True)\n{rng.choice(ends)}",
        f"import sys\nprint(sys.stdin.read())\n{rng.choice(ends)}",
        f"import os\nos.write(1, b'\\xff\\xfe\\n' + {right!r}.encode())",
        "while True:\n    print(1)",
        "print(10**100_000)",
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'[\"ok\", true]\\n')\n    except OSError: pass",
        f"import threading\nthreading.Thread(target=print, args=({right!r},)).start()",
        "pass",
    )
    return fenced(forms[0] if rng.random() < 0.7 else forms[rng.integers(1, len(forms))])


def through_tools(name, state, agent, game, rng):
    """A reply that needs a tool to be judged, mostly."""
    right, slot = game.oracle(state, agent), game.slot(agent)
    if name == "code":
        problem = problem_of(state.task.content)
        tricks = false_tests(problem) if slot == "tool" else coder_attacks(problem)
        return spoilt(right, rng) if rng.random() < 0.5 else tricks[rng.integers(len(tricks))]
    if name == "search":
        words = [*state.world.question.text.split(), right, "<", "\u0661", "the", "9" * 40]
        return f"<search>{' '.join(map(str, rng.choice(words, rng.integers(1, 9))))}</search>"
    tricks = (
        math_attacks(state.world.question, state.world.expected) if name == "math" else list(game.legal(state, agent))
    )
    if slot != "tool" or (name == "math" and rng.random() < 0.4):
        return tricks[rng.integers(len(tricks))]
    return printing(right, tricks, rng)


@pytest.mark.parametrize(("count", "tasks"), [(12, 2), pytest.param(1_000, 30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DOMAINS)
def test_no_reply_scores_above_an_honest_one_through_the_real_tools(name, count, tasks):
    """Programs in the sandbox, answers at math-verify, searches in the index."""
    game, driver = game_of(name, "pair"), default_driver()
    speakers = [
        p for p, (_, agent) in enumerate(states(name, "pair", tasks)) if name in ("code", "math") or agent == "tool_0"
    ]
    places = [speakers[number % len(speakers)] for number in range(count)]
    asked = []
    for number, place in enumerate(places):
        state, agent = states(name, "pair", tasks)[place]
        asked.append((state, agent, through_tools(name, state, agent, game, keyed("tools", name, number))))

    async def played():
        gate = asyncio.Semaphore(8)

        async def one(state, agent, reply):
            async with gate:
                return await step(game, state, {agent: reply}, driver)

        return await asyncio.gather(*(one(*row) for row in asked))

    for done, place, (_, agent, reply) in zip(asyncio.run(played()), places, asked, strict=True):
        check(done, agent, honest(name, "pair", tasks, place), reply)
