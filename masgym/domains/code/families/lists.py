"""Families of medium level on lists."""

from typing import Any

import numpy as np

from masgym.domains.code.families.template import Family, letters, numbers, pick, whole


def _spans(rng: np.random.Generator) -> list[Any]:
    return [[[start, start + whole(rng, 1, 4)] for start in numbers(rng, 0, 6, 0, 16)]]


def _matrix(rng: np.random.Generator) -> list[Any]:
    columns = whole(rng, 1, 4)
    return [[numbers(rng, columns, columns, 0, 9) for _ in range(whole(rng, 1, 4))]]


def _tree(rng: np.random.Generator, depth: int = 4) -> list[Any]:
    kept = depth > 0
    return [
        _tree(rng, depth - 1) if kept and rng.random() < 0.45 else whole(rng, 0, 9) for _ in range(whole(rng, 0, 3))
    ]


def _formula(rng: np.random.Generator, sign: str, depth: int = 3) -> str:
    if depth == 0 or rng.random() < 0.2:
        return str(whole(rng, -3, 9))
    parts = [_formula(rng, sign, depth - 1) for _ in range(2)]
    return " ".join([*parts, pick(rng, f"+-*{sign}")])


FAMILIES = (
    Family(
        name="merge_spans",
        level="medium",
        entry_point="merge",
        parameters=("spans",),
        statement=(
            "Each span is a list [start, end]. Two spans are joined into one when one of them starts $when; this goes "
            "on until no more can be joined. Return the spans that result, by their starts."
        ),
        program="""def merge(spans):
    merged = []
    for start, end in sorted(spans):
        if merged and start $test:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged
""",
        mistakes=(
            ("start $test", "start $other"),
            ("max(merged[-1][1], end)", "end"),
            ("sorted(spans)", "spans"),
            ("if merged and", "if len(merged) == 1 and"),
        ),
        variants=(
            {
                "when": "before or where the other ends, and not before the other",
                "test": "<= merged[-1][1]",
                "other": "< merged[-1][1]",
            },
            {
                "when": "before the other ends (not where it ends), and not before the other",
                "test": "< merged[-1][1]",
                "other": "<= merged[-1][1]",
            },
            {
                "when": "at most 1 after the other ends, and not before the other",
                "test": "<= merged[-1][1] + 1",
                "other": "<= merged[-1][1]",
            },
            {
                "when": "at most 2 after the other ends, and not before the other",
                "test": "<= merged[-1][1] + 2",
                "other": "< merged[-1][1] + 2",
            },
        ),
        draw=_spans,
        edges=([[]], [[[1, 3], [3, 5]]], [[[1, 9], [2, 3]]], [[[5, 6], [1, 4]]], [[[1, 2], [4, 5]]]),
    ),
    Family(
        name="spiral",
        level="medium",
        entry_point="spiral",
        parameters=("m",),
        statement=(
            "Walk over a matrix m, a list of rows, in a spiral: from the top left to the right, down, to the left, up, "
            "and so on inwards, each entry once. Return $what."
        ),
        program="""def spiral(m):
    rows, made = [list(row) for row in m], []
    while rows:
        made += rows.pop(0)
        rows = [list(row) for row in zip(*rows)][::-1]
    return $result
""",
        mistakes=(
            ("zip(*rows)][::-1]", "zip(*rows)]"),
            ("rows.pop(0)", "rows.pop()"),
            ("while rows:", "while len(rows) > 1:"),
            ("$result", "$other"),
        ),
        variants=(
            {"what": "the list of the entries, in that order", "result": "made", "other": "made[:-1]"},
            {"what": "the list of the entries, in the reverse order", "result": "made[::-1]", "other": "made"},
            {
                "what": "every second entry in that order, from the first on, in a list",
                "result": "made[::2]",
                "other": "made[1::2]",
            },
            {
                "what": "the last three entries in that order, in a list (all, where there are fewer)",
                "result": "made[-3:]",
                "other": "made[-2:]",
            },
        ),
        draw=_matrix,
        edges=([[[1]]], [[[1, 2, 3]]], [[[1], [2], [3]]], [[[1, 2], [3, 4]]]),
    ),
    Family(
        name="best_window",
        level="medium",
        entry_point="best",
        parameters=("a",),
        statement=("Return the $most sum of $k numbers in a row in a list a. If a is shorter, return the sum of all."),
        program="""def best(a):
    if len(a) < $k:
        return sum(a)
    total = found = sum(a[:$k])
    for i in range($k, len(a)):
        total += a[i] - a[i - $k]
        found = $pick(found, total)
    return found
""",
        mistakes=(
            ("range($k, len(a))", "range($k, len(a) - 1)"),
            ("a[i - $k]", "a[i - $k + 1]"),
            ("return sum(a)", "return 0"),
            ("total = found = sum(a[:$k])", "total, found = sum(a[:$k]), 0"),
        ),
        variants=(
            {"k": "2", "most": "largest", "pick": "max"},
            {"k": "3", "most": "smallest", "pick": "min"},
            {"k": "4", "most": "largest", "pick": "max"},
            {"k": "3", "most": "largest", "pick": "max"},
        ),
        draw=lambda rng: [numbers(rng, 2, 9, -9, 9)],
        edges=([[]], [[5]], [[-5, -3]], [[-4, -2, -3, -7]], [[4, 2, 3, 7, 9]]),
    ),
    Family(
        name="count_pairs",
        level="medium",
        entry_point="pairs",
        parameters=("a", "target"),
        statement="Return in how many ways two different places i < j of a list a can be chosen with $condition.",
        program="""def pairs(a, target):
    count = 0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if $test:
                count += 1
    return count
""",
        mistakes=(
            ("range(i + 1, len(a))", "range(i, len(a))"),
            ("range(i + 1, len(a))", "range(len(a))"),
            ("count += 1", "count = 1"),
            ("$test", "$other"),
        ),
        variants=(
            {
                "condition": "a[i] + a[j] equal to target",
                "test": "a[i] + a[j] == target",
                "other": "a[i] != a[j] and a[i] + a[j] == target",
            },
            {
                "condition": "a difference of target between a[i] and a[j], in either direction",
                "test": "abs(a[i] - a[j]) == target",
                "other": "a[i] - a[j] == target",
            },
            {
                "condition": "a[i] + a[j] less than target",
                "test": "a[i] + a[j] < target",
                "other": "a[i] + a[j] <= target",
            },
            {
                "condition": "a[i] * a[j] greater than target",
                "test": "a[i] * a[j] > target",
                "other": "a[i] * a[j] >= target",
            },
        ),
        draw=lambda rng: [numbers(rng, 1, 8, 0, 6), whole(rng, 0, 8)],
        edges=([[], 3], [[2, 2], 4], [[3, 3, 3], 6], [[1, 5, 1, 5], 4], [[0, 0], 0]),
    ),
    Family(
        name="grouped",
        level="medium",
        entry_point="groups",
        parameters=("words",),
        statement=(
            "Group a list of words, none of them empty, by $by. Return a dict from that to the list of its words, in "
            "alphabetical order, as often as they occur."
        ),
        program="""def groups(words):
    made = {}
    for word in words:
        made.setdefault($key, []).append(word)
    return {key: sorted(found) for key, found in made.items()}
""",
        mistakes=(
            ("sorted(found)", "found"),
            ("in words", "in set(words)"),
            ("$key", "$other"),
            ("in words", "in words[1:]"),
        ),
        variants=(
            {"by": "their first letter", "key": "word[0]", "other": "word[-1]"},
            {"by": "their last letter", "key": "word[-1]", "other": "word[0]"},
            {"by": "their length", "key": "len(word)", "other": "len(set(word))"},
            {"by": "whether they begin as they end", "key": "word[0] == word[-1]", "other": "word == word[::-1]"},
        ),
        draw=lambda rng: [[letters(rng, 1, 4, "abc") for _ in range(whole(rng, 1, 6))]],
        edges=([[]], [["a"]], [["ba", "ab", "ba"]], [["aba", "abca"]]),
    ),
    Family(
        name="flatten",
        level="medium",
        entry_point="flat",
        parameters=("a",),
        statement="A list a holds integers and lists, which are like a. Return it with $what.",
        program="""def flat(a, depth=$depth):
    made = []
    for item in a:
        if isinstance(item, list) and depth > 0:
            made += flat(item, depth - 1)
        else:
            made.append(item)
    return made
""",
        mistakes=(
            ("made += flat(item, depth - 1)", "made.append(flat(item, depth - 1))"),
            ("depth - 1)", "depth)"),
            ("depth > 0", "depth >= 0"),
            ("for item in a", "for item in a[:2]"),
            ("        else:", "        elif item != []:"),
            ("        else:", "        elif item != 0:"),
        ),
        variants=(
            {"what": "all the integers in one list, in their order", "depth": "99"},
            {"what": "each list in it replaced by its items; the lists in those stay", "depth": "1"},
            {
                "what": "the lists in it, and the lists in those, replaced by their items; deeper ones stay",
                "depth": "2",
            },
        ),
        draw=lambda rng: [_tree(rng)],
        edges=([[]], [[1, [2, [3, [4, [5]]]]]], [[[], 0, [[]]]], [[1, 2, 3]]),
    ),
    Family(
        name="postfix",
        level="medium",
        entry_point="postfix",
        parameters=("text",),
        statement=(
            "Evaluate a formula in postfix form: integers and the signs + - * $sign, separated by spaces; each sign "
            "takes the two values before it, left and right. left $sign right is $meaning."
        ),
        program="""def postfix(text):
    stack = []
    for token in text.split():
        if token in ("+", "-", "*", "$sign"):
            right, left = stack.pop(), stack.pop()
            if token == "+":
                stack.append(left + right)
            elif token == "-":
                stack.append(left - right)
            elif token == "*":
                stack.append(left * right)
            else:
                stack.append($value)
        else:
            stack.append(int(token))
    return stack[-1]
""",
        mistakes=(
            ("right, left", "left, right"),
            ("left * right", "left + right"),
            ("$value", "$other"),
            ("int(token)", "abs(int(token))"),
        ),
        variants=(
            {
                "sign": "/",
                "meaning": "their quotient, rounded down",
                "value": "left // right",
                "other": "int(left / right)",
            },
            {
                "sign": "%",
                "meaning": "the remainder of left divided by right",
                "value": "left % right",
                "other": "right",
            },
            {"sign": ">", "meaning": "the larger of the two", "value": "max(left, right)", "other": "left"},
            {"sign": "~", "meaning": "their distance", "value": "abs(left - right)", "other": "left - right"},
        ),
        draw=lambda rng: [_formula(rng, pick(rng, "/%>~"))],
        edges=(["7"], ["2 5 -"], ["-7 2 /"], ["-7 2 %"], ["-7 2 >"], ["-7 2 ~"], ["1 2 3 * -"]),
    ),
)
