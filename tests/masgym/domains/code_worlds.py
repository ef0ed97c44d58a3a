"""Small tasks of the code domain, and what replies come to in them."""

from masgym.domains.code import Code
from masgym.tasks import content_hash
from masgym.tools.driver import default_driver
from masgym.types import Task

RUN = default_driver().run
DOMAIN = Code()


def case(*args, expected):
    return {"args": list(args), "expected": expected}


DOUBLE = {  # f(x) = 2x + 1
    "statement": "Return twice x, plus 1.",
    "brief": "x: double, add 1",
    "form": "function",
    "entry_point": "f",
    "parameters": ["x"],
    "examples": [case(1, expected=3), case(2, expected=5)],
    "gold": [case(0, expected=1), case(-3, expected=-5), case(10, expected=21), case(7, expected=15)],
    "tests": [case(4, expected=9)],
    "reference": "def f(x):\n    return 2*x+1\n",
    "mutants": [
        "def f(x):\n    return 2*x+(x<5)\n",
        "def f(x):\n    return abs(2*x+1)\n",
        "def f(x):\n    return x+2\n",
    ],
    "time_limit": 0.5,
    "source": "by hand",
}
ECHO = {  # adds the numbers of a line
    "statement": "Print the sum of the numbers in the line.",
    "form": "stdin",
    "examples": [{"stdin": "1 2\n", "stdout": "3\n"}],
    "gold": [{"stdin": "4\n", "stdout": "4\n"}, {"stdin": "5 -5 1\n", "stdout": "1\n"}],
    "reference": "print(sum(map(int, input().split())))\n",
    "mutants": ["print(input().split()[0])\n"],
    "time_limit": 0.5,
    "source": "by hand",
}


def task_of(content):
    place = {"params": {}, "seed": 0, "split": "train", "index": 0, "level": "easy", "optimum": None}
    return Task(domain="code", content=content, content_hash=content_hash(content), **place)


def world_of(content=DOUBLE):
    return DOMAIN.initial(task_of(content))


def effect(slot, reply, world=None):
    world, results = world or world_of(), ()
    while calls := DOMAIN.calls(slot, world, reply, results):
        results += RUN({"one": calls})["one"]
    return DOMAIN.effect(slot, world, reply, results)


def fenced(program):
    return f"```python\n{program}\n```"


def offered(*tests):
    """A world as the coder meets it when a tester has offered `tests`."""
    return DOMAIN.attend(world_of(), (effect("tool", "\n".join(tests)),))
