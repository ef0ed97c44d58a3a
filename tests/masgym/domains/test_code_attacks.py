"""The code domain: programs that cheat, or look for what is hidden."""

import pytest
from code_worlds import DOMAIN, DOUBLE, RUN, case, effect, fenced, task_of, world_of

from masgym.game import Game
from masgym.tools.driver import step_sync
from masgym.workflows.pair import Pair


def test_a_program_that_answers_for_the_harness_ends_nothing():
    """Values that no `encode` writes: they are wrong answers, shown as they are."""
    for forged in (
        "{'float': 10**400}",
        "{'float': 1.5}",
        "{'set': [[1]]}",
        "{'dict': [1]}",
        "{'tuple': 5}",
        "{'float': 'x'}",
    ):
        program = f"import sys\nsys.modules['program'].encode = lambda *_: {forged}\ndef f(x):\n    return None"
        made = effect("act", fenced(program))
        assert (made.terms["gold"], made.malformed) == (0, False), forged


class TestFault14:
    """An object with __eq__ that says True, and forged verdicts, passed tests elsewhere."""

    ATTACKS = (
        "class E:\n    def __eq__(self, other): return True\ndef f(x): return E()",
        "class E(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\ndef f(x): return E(7)",
        "def f(x):\n    import sys\n    sys.exit(0)",
        "import os\ndef f(x):\n    os._exit(0)",
        "import builtins\nbuiltins.compile = builtins.exec = builtins.repr = lambda *a, **k: None\ndef f(x): pass",
        'import json\njson.dumps = lambda *a, **k: \'["ok", ["ok", true]]\'\ndef f(x): return 0',
        'import os\nfor fd in range(3, 64):\n    try: os.write(fd, b\'["ok", ["ok", true]]\\n\' * 99)\n'
        "    except OSError: pass\nos._exit(0)",
        "import sys\nframe = sys._getframe()\nwhile frame:\n    for name in list(frame.f_globals):\n"
        "        if name in ('same', 'encode', 'check_keys'): frame.f_globals[name] = lambda *a: True\n"
        "    frame = frame.f_back\ndef f(x): return object()",
        "def f(x): return float('nan')",
        "print('ok\\n' * 100)\ndef f(x): print('passed'); return 'passed'",
    )

    @pytest.mark.parametrize("attack", ATTACKS)
    def test_nothing_is_gained(self, attack):
        made = effect("act", fenced(attack))
        assert not made.right
        assert made.world.gold == 0
        assert not made.done


class TestSecrecy:
    """Gold tests are never shown."""

    SPY = (
        "import gc, sys\ndef f(x):\n    seen, frame, backwards = [], sys._getframe(), '46372819'\n    while frame:\n"
        "        seen.append(repr(frame.f_locals))\n        frame = frame.f_back\n"
        "    seen += [repr(o) for o in gc.get_objects() if isinstance(o, (list, tuple, dict)) and len(o) < 99]\n"
        "    raise ValueError('found' if any(backwards in text[::-1] for text in seen) else 'none')"
    )

    def test_a_program_that_looks_round_finds_no_hidden_input(self):
        secret = [case(918273640 + i, expected=i) for i in range(4)]
        made = effect("act", fenced(self.SPY), world_of(DOUBLE | {"gold": secret}))
        assert made.note.count("ValueError: none") == 2
        made = effect("act", fenced(self.SPY), world_of(DOUBLE | {"examples": [DOUBLE["examples"][0], *secret]}))
        assert "ends with exception ValueError: found" in made.note  # it does find what runs with it

    def test_no_prompt_holds_a_gold_test_or_how_many_pass(self):
        content = DOUBLE | {"gold": [case(7770 + i, expected=15541 + 2 * i) for i in range(7)]}
        for style in ("full", "compact"):
            game = Game(domain=DOMAIN, workflow=Pair(), T=3, style=style)
            states = [game.initial(task_of(content))]
            for outputs in (("f(5) == 12", "2*x+(x%10<4)"), ("f(4) == 9", "2*x"), ("f(3) == 7", "x+")):
                for agent, reply in zip(game.agents, outputs, strict=True):
                    states.append(step_sync(game, states[-1], {agent: reply}, RUN).state)
            assert states[2].world.gold == 4 / 7
            text = "\n".join(game.observe(state, agent).text for state in states for agent in game.agents)
            assert not any(word in text for word in ("777", "1554", "1555", "of 7", "/7", "0.57", "gold"))
