"""Families of hard level that act out rules."""

from typing import Any

import numpy as np

from masgym.domains.code.families.template import Family, grid, numbers, pick, whole


def _formula(rng: np.random.Generator, depth: int = 3) -> str:
    if depth == 0 or rng.random() < 0.25:
        return str(whole(rng, 0, 9))
    parts = [_formula(rng, depth - 1) for _ in range(whole(rng, 2, 3))]
    text = parts[0] + "".join(f" {pick(rng, '+-*')} {part}" for part in parts[1:])
    return f"({text})" if rng.random() < 0.3 else text


def _visits(rng: np.random.Generator) -> str:
    spans = [(start, start + whole(rng, 1, 5)) for start in numbers(rng, 1, 6, 0, 12)]
    return "\n".join([str(len(spans)), *(f"{start} {end}" for start, end in spans)]) + "\n"


def _accounts(rng: np.random.Generator) -> str:
    lines = list[str]()
    for _ in range(whole(rng, 2, 8)):
        name, other, amount = pick(rng, "abc"), pick(rng, "abc"), whole(rng, 1, 9)
        lines.append(pick(rng, (f"put {name} {amount}", f"take {name} {amount}", f"move {name} {other} {amount}")))
    return "\n".join([str(len(lines)), *lines]) + "\n"


def _requests(rng: np.random.Generator) -> list[Any]:
    return [whole(rng, 1, 3), numbers(rng, 1, 12, 1, 5)]


_DEAD, _RING = "r + down, c + right", "(r + down) % rows, (c + right) % columns"

FAMILIES = (
    Family(
        name="formula",
        level="hard",
        entry_point="value",
        parameters=("text",),
        statement=(
            "Evaluate a formula of non-negative integers, the signs + - * and round brackets, with spaces around the "
            "signs. $rule Signs of equal rank are taken from left to right."
        ),
        program="""def value(text):
    rank, numbers, signs = $ranks, [], []

    def apply():
        sign, right, left = signs.pop(), numbers.pop(), numbers.pop()
        numbers.append(left + right if sign == "+" else left - right if sign == "-" else left * right)

    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            signs.append(token)
        elif token == ")":
            while signs[-1] != "(":
                apply()
            signs.pop()
        elif token in rank:
            while signs and signs[-1] != "(" and rank[signs[-1]] >= rank[token]:
                apply()
            signs.append(token)
        else:
            numbers.append(int(token))
    while signs:
        apply()
    return numbers[0]
""",
        mistakes=(
            (">= rank[token]", "> rank[token]"),
            ("left - right if", "right - left if"),
            ("rank, numbers, signs = $ranks", "rank, numbers, signs = $other"),
            ("            while signs and signs[-1]", "            if signs and signs[-1]"),
        ),
        variants=(
            {
                "rule": "* ranks before + and -.",
                **{"ranks": '{"+": 1, "-": 1, "*": 2}', "other": '{"+": 1, "-": 1, "*": 1}'},
            },
            {
                "rule": "All signs are of equal rank.",
                **{"ranks": '{"+": 1, "-": 1, "*": 1}', "other": '{"+": 1, "-": 1, "*": 2}'},
            },
            {
                "rule": "+ and - rank before *.",
                **{"ranks": '{"+": 2, "-": 2, "*": 1}', "other": '{"+": 1, "-": 1, "*": 2}'},
            },
            {
                "rule": "+ ranks before -, and - before *.",
                **{"ranks": '{"+": 3, "-": 2, "*": 1}', "other": '{"+": 2, "-": 2, "*": 1}'},
            },
        ),
        draw=lambda rng: [_formula(rng)],
        edges=(["7"], ["2 + 3 * 4"], ["2 * 3 + 4"], ["9 - 3 - 2"], ["9 - 3 + 2"], ["(1 + 2) * 3"], ["8 - (3 - 2)"]),
    ),
    Family(
        name="visits",
        level="hard",
        form="stdin",
        statement=(
            "The first line holds n. Each of the next n lines holds when a guest comes and when the guest leaves; "
            "whoever leaves at a time is gone at that time. Print $what."
        ),
        program="""n = int(input())
events = []
for _ in range(n):
    start, end = map(int, input().split())
    events += [(start, 1), (end, -1)]
present = most = covered = alone = last = 0
for time, change in sorted(events):
    covered += (time - last) * (present > 0)
    alone += (time - last) * (present == 1)
    present += change
    most = max(most, present)
    last = time
print($result)
""",
        mistakes=(
            ("(start, 1)", "(start + 1, 1)"),
            ("(end, -1)", "(end + 1, -1)"),
            ("range(n)", "range(n - 1)"),
            ("print($result)", "print($other)"),
        ),
        variants=(
            {"what": "the largest number of guests at one time", "result": "most", "other": "min(most, 2)"},
            {"what": "for how long at least one guest is there", "result": "covered", "other": "last - events[0][0]"},
            {"what": "for how long exactly one guest is there", "result": "alone", "other": "covered"},
            {"what": "for how long at least two guests are there", "result": "covered - alone", "other": "alone"},
        ),
        draw=_visits,
        edges=("1\n2 5\n", "2\n1 3\n3 5\n", "2\n1 4\n2 6\n", "3\n0 9\n1 2\n3 4\n", "2\n1 2\n5 6\n"),
    ),
    Family(
        name="cache",
        level="hard",
        entry_point="cache",
        parameters=("size", "keys"),
        statement=(
            "A store holds at most size keys, none at first. Keys are asked for one after another. A key not in "
            "the store is put there; if the store is full, first the $victim leaves it. Return $what."
        ),
        program="""def cache(size, keys):
    held, hits = [], 0
    for key in keys:
        if key in held:
            hits += 1
            $touch
        else:
            if len(held) == size:
                held.pop($place)
            held.append(key)
    return $result
""",
        mistakes=(
            ("len(held) == size", "len(held) > size"),
            ("            $touch", "            $other"),
            ("held.pop($place)", "held.pop($elsewhere)"),
            ("held.pop($place)", "held.clear()"),
            ("hits += 1", "hits = 1"),
        ),
        variants=(
            {
                "victim": "key that was asked for least recently",
                "what": "how often a key was in the store when it was asked for",
                **{"touch": "held.append(held.pop(held.index(key)))", "other": "pass"},
                **{"place": "0", "elsewhere": "-1", "result": "hits"},
            },
            {
                "victim": "key that was put there first, whether or not it was asked for since",
                "what": "how often a key was in the store when it was asked for",
                **{"touch": "pass", "other": "held.append(held.pop(held.index(key)))"},
                **{"place": "0", "elsewhere": "-1", "result": "hits"},
            },
            {
                "victim": "key that was asked for most recently",
                "what": "the keys in the store at the end, from small to large, in a list",
                **{"touch": "held.append(held.pop(held.index(key)))", "other": "pass"},
                **{"place": "-1", "elsewhere": "0", "result": "sorted(held)"},
            },
            {
                "victim": "key that was asked for least recently",
                "what": "the keys in the store at the end, from small to large, in a list",
                **{"touch": "held.append(held.pop(held.index(key)))", "other": "pass"},
                **{"place": "0", "elsewhere": "-1", "result": "sorted(held)"},
            },
        ),
        draw=_requests,
        edges=([1, [1, 1]], [2, [1, 2, 1, 3, 2]], [2, [1, 2, 1, 3, 1]], [1, [1, 2, 1]], [3, [1, 2, 3, 1, 4, 2, 1]]),
    ),
    Family(
        name="life",
        level="hard",
        entry_point="life",
        parameters=("grid", "steps"),
        statement=(
            "A grid is a list of texts of equal length; '#' is a living cell, '.' a dead one. In each step, all at "
            "once, a living cell stays alive if $stay of its eight neighbours live, and a dead cell comes alive if "
            "$born live. $edge Return the grid after the given number of steps."
        ),
        program="""def life(grid, steps):
    rows, columns = len(grid), len(grid[0])
    for _ in range(steps):
        near = [[0] * columns for _ in range(rows)]
        for r in range(rows):
            for c in range(columns):
                for down in (-1, 0, 1):
                    for right in (-1, 0, 1):
                        y, x = $to
                        if (down or right) and 0 <= y < rows and 0 <= x < columns and grid[r][c] == "#":
                            near[y][x] += 1
        grid = [
            "".join("#" if near[r][c] in ($alive if grid[r][c] == "#" else $new) else "." for c in range(columns))
            for r in range(rows)
        ]
    return grid
""",
        mistakes=(
            ("(down or right) and ", ""),
            ("range(steps)", "range(steps + 1)"),
            ("$alive if", "$new if"),
            ("y, x = $to", "y, x = $elsewhere"),
            ("else $new)", "else $alive)"),
        ),
        variants=(
            {
                **{"stay": "two or three", "born": "exactly three", "alive": "(2, 3)", "new": "(3,)"},
                **{"edge": "Beyond the edges nothing lives.", "to": _DEAD, "elsewhere": _RING},
            },
            {
                **{"stay": "two or three", "born": "exactly three", "alive": "(2, 3)", "new": "(3,)"},
                "edge": "Beyond an edge lies the opposite edge, in rows and in columns.",
                **{"to": _RING, "elsewhere": _DEAD},
            },
            {
                **{"stay": "two or three", "born": "three or six", "alive": "(2, 3)", "new": "(3, 6)"},
                **{"edge": "Beyond the edges nothing lives.", "to": _DEAD, "elsewhere": _RING},
            },
            {
                **{"stay": "one or two", "born": "exactly two", "alive": "(1, 2)", "new": "(2,)"},
                **{"edge": "Beyond the edges nothing lives.", "to": _DEAD, "elsewhere": _RING},
            },
        ),
        draw=lambda rng: [grid(rng, 3, 6, "..#"), whole(rng, 1, 3)],
        edges=(
            [["...", "###", "..."], 1],
            [["....", ".##.", ".##.", "...."], 2],
            [["#..", "#..", "#.."], 1],
            [["#.#", "...", "#.#"], 0],
        ),
    ),
    Family(
        name="counting_out",
        level="hard",
        entry_point="left",
        parameters=("n", "k"),
        statement=(
            "n players, numbered 1 to n, stand in a ring. Counting begins with player 1 and goes round; every k-th "
            "player leaves the ring, and counting goes on with the next. $what"
        ),
        program="""def left(n, k):
    ring, gone, place = list(range(1, n + 1)), [], 0
    while $going:
        place = (place + k - 1) % len(ring)
        gone.append(ring.pop(place))
    return $result
""",
        mistakes=(
            ("place + k - 1", "place + k"),
            ("range(1, n + 1)", "range(n)"),
            ("place + k - 1", "k - 1"),
            ("return $result", "return $other"),
        ),
        variants=(
            {
                "what": "Return the number of the player who leaves last.",
                **{"going": "ring", "result": "gone[-1]", "other": "gone[0]"},
            },
            {
                "what": "Return the numbers of all players in the order in which they leave.",
                **{"going": "ring", "result": "gone", "other": "gone[::-1]"},
            },
            {
                "what": "Return the numbers of the last two in the ring (of all, if n is 1), from small to large.",
                **{"going": "len(ring) > 2", "result": "ring", "other": "ring[:1]"},
            },
            {
                "what": "Return how many players leave before player 1 does.",
                **{"going": "ring", "result": "gone.index(1)", "other": "gone.index(n)"},
            },
        ),
        draw=lambda rng: [whole(rng, 1, 12), whole(rng, 1, 7)],
        edges=([1, 1], [2, 2], [5, 2], [7, 3], [6, 1]),
    ),
    Family(
        name="accounts",
        level="hard",
        form="stdin",
        statement=(
            "The first line holds n. n lines follow: 'put NAME AMOUNT', 'take NAME AMOUNT' or 'move FROM TO AMOUNT'. "
            "Accounts begin at 0. $rule In the end print a line with name and balance, separated by a space, for each "
            "account that a line has named, in alphabetical order."
        ),
        program="""n = int(input())
balance = {}
for _ in range(n):
    what, *names, amount = input().split()
    amount = int(amount)
    for name in names:
        balance.setdefault(name, 0)
    if what == "put":
        balance[names[0]] += amount
    elif $allowed:
        balance[names[0]] -= amount + $fee
        if what == "move":
            balance[names[1]] += amount
for name in sorted(balance):
    print(name, balance[name])
""",
        mistakes=(
            ("elif $allowed:", "elif $other:"),
            ("            balance[names[1]] += amount", "            balance[names[1]] += amount + 1"),
            ("in sorted(balance)", "in balance"),
            ("amount + $fee", "amount"),
            ("    for name in names:\n        balance.setdefault(name, 0)", "    balance.setdefault(names[-1], 0)"),
            ('if what == "move"', "if len(names) > 2"),
        ),
        variants=(
            {
                "rule": "A line that would bring an account below 0 is not carried out.",
                **{"allowed": "balance[names[0]] >= amount", "other": "balance[names[0]] > amount", "fee": "0"},
            },
            {
                "rule": "A line that would bring an account below -5 is not carried out.",
                **{"allowed": "balance[names[0]] - amount >= -5", "other": "balance[names[0]] >= amount", "fee": "0"},
            },
            {
                "rule": (
                    "take and move cost 1 more, which the account pays from which the amount comes; a line that would "
                    "bring an account below 0 is not carried out."
                ),
                **{"allowed": "balance[names[0]] >= amount + 1", "other": "balance[names[0]] >= amount", "fee": "1"},
            },
            {
                "rule": "take and move are carried out if the account they take from is above 0; it may fall below.",
                **{"allowed": "balance[names[0]] > 0", "other": "balance[names[0]] >= 0", "fee": "0"},
            },
        ),
        draw=_accounts,
        edges=(
            "1\nput a 3\n",
            "2\nput a 3\ntake a 3\n",
            "3\nput b 5\nmove b a 4\ntake a 9\n",
            "2\nput a 1\nmove a a 1\n",
            "1\nmove b a 5\n",
            "2\nput a 3\nmove a b 5\n",
        ),
    ),
)
