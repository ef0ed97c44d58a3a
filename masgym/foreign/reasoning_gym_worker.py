"""How reasoning-gym makes its items and scores answers, in a process of `masgym/tools/worker_main.py`. It imports
nothing of masgym. The questions:

{"do": "names"} -> the data sets; {"do": "version"};
{"do": "check", "dataset", "config"} -> "" or why there is no such data set;
{"do": "item", "dataset", "config", "item"} -> {"question", "answer"}, or None: this number gives no item;
{"do": "score", ..., "answer"} -> a number in [0, 1]; what makes the scorer raise is worth 0.

Some scorers evaluate what a model wrote as Python, by `eval` or by sympy's parser, which evaluates too. Here the former
reads literals only, and the latter only arithmetic.
"""

import ast
import importlib
import json
import math
import os
import re
import signal
from functools import lru_cache
from importlib.metadata import version
from typing import Any

os.environ["MPLBACKEND"] = "agg"  # cellpylib imports matplotlib

import sympy
from sympy.parsing import sympy_parser

SCORE_CPU = 5.0  # seconds that a scorer may take
EVALUATING = ("string_insertion", "spiral_matrix", "binary_matrix", "n_queens")  # their scorers call eval(answer)
EXAMPLES = ("possible_answer", "example_answer", "example_correct_answer")  # of data sets with many right answers
_FUNCTIONS = {
    *("sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"),
    *("atanh", "exp", "log", "ln", "sqrt", "Abs", "pi", "erf", "Ei", "Si", "Ci"),
}
_ARITHMETIC = re.compile(r"[A-Za-z]+|\d+(?:\.\d*)?|\.\d+|[-+*/^(),\s]", re.ASCII)
_unguarded = sympy_parser.parse_expr


def arithmetic(text: str, *args: Any, **kwargs: Any) -> Any:
    """sympy's `parse_expr`, for texts of numbers, one-letter symbols, elementary functions and operators only."""
    words = _ARITHMETIC.findall(text)
    if "".join(words) != text or any(len(w) > 1 and w[0].isalpha() and w not in _FUNCTIONS for w in words):
        raise ValueError("no arithmetic expression")
    return _unguarded(text, *args, **kwargs)


def _guard() -> None:
    """Before reasoning-gym is imported: its modules take the names as they find them."""
    sympy_parser.parse_expr = sympy.parse_expr = arithmetic


_guard()
from reasoning_gym.factory import DATASETS, create_dataset  # noqa: E402  # pyright: ignore[reportMissingImports]


def prepare() -> None:
    """The scorers' own `eval` reads literals."""
    for name in EVALUATING:
        module: Any = importlib.import_module(DATASETS[name][0].__module__)
        module.eval = ast.literal_eval


@lru_cache(maxsize=8)
def dataset(name: str, config: str, **more: int) -> Any:
    return create_dataset(name, **{"seed": 0, **json.loads(config), **more})


@lru_cache(maxsize=256)
def entry(name: str, config: str, item: int) -> tuple[Any, dict[str, Any]]:
    """(the data set, its item of that number, whose answer is a text that scores 1). Raises where there is none."""
    made = dataset(name, config)
    if hasattr(made, "size"):
        made.size = 2**62  # a bound that most of them only compare with
    try:
        found = made[item]
    except IndexError:  # its items were laid out when it was made: an own seed gives others
        made = create_dataset(name, **{**json.loads(config), "seed": item, "size": 10})
        found = made[0]
    examples = [found["answer"], *(found["metadata"].get(key) for key in EXAMPLES)]
    for answer in examples:
        text = json.dumps(answer) if isinstance(answer, dict) else answer
        if isinstance(text, str) and text.strip() and score(made, found, text.strip()) == 1:
            return made, {**found, "oracle": text.strip()}
    raise LookupError("no answer that scores 1")


def score(made: Any, found: dict[str, Any], answer: str) -> float:
    try:
        given = float(made.score_answer(answer, found))
    except Exception:  # whatever a scorer makes of nonsense
        return 0.0
    return min(1.0, max(0.0, given)) if math.isfinite(given) else 0.0


def check(name: str, config: str) -> str:
    try:
        dataset(name, config)
    except Exception as error:  # a configuration's own checks are assertions, and its constructor raises TypeError
        return f"{type(error).__name__}: {error}"
    return ""


def answered(asked: dict[str, Any]) -> Any:
    if asked["do"] == "names":
        return sorted(DATASETS)
    if asked["do"] == "version":
        return version("reasoning-gym")
    name, config = asked["dataset"], json.dumps(asked["config"], sort_keys=True)
    if asked["do"] == "check":
        return check(name, config)
    if asked["do"] == "item":
        try:
            found = entry(name, config, asked["item"])[1]
        except Exception:  # some draws of a generator fail; the caller draws again
            return None
        return {"question": found["question"].strip(), "answer": found["oracle"]}
    made, found = entry(name, config, asked["item"])
    signal.setitimer(signal.ITIMER_PROF, SCORE_CPU)
    return score(made, found, asked["answer"])
