"""Families of hard level on best choices: sequences, texts, sums."""

from typing import Any

import numpy as np

from masgym.domains.code.families.template import Family, letters, numbers, pick, whole


def _goods(rng: np.random.Generator) -> str:
    n, capacity = whole(rng, 1, 5), whole(rng, 1, 12)
    return "\n".join([f"{n} {capacity}", *(f"{whole(rng, 1, 6)} {whole(rng, 1, 9)}" for _ in range(n))]) + "\n"


def _two_texts(rng: np.random.Generator) -> list[Any]:
    first = letters(rng, 0, 7, "abc")
    return [first, letters(rng, 0, 7, "abc") if rng.random() < 0.6 else first[1:] + pick(rng, "abc")]


_UNORDERED = """for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]"""
_ORDERED = """for total in range(1, amount + 1):
        for coin in coins:
            if coin <= total:
                ways[total] += ways[total - coin]"""
_ONCE = """for coin in coins:
        for total in range(amount, coin - 1, -1):
            ways[total] += ways[total - coin]"""
_TWICE = """for coin in coins + coins:
        for total in range(amount, coin - 1, -1):
            ways[total] = max(ways[total], ways[total - coin])"""

FAMILIES = (
    Family(
        name="longest_chain",
        level="hard",
        entry_point="longest",
        parameters=("a",),
        statement=(
            "Return the length of the longest list that can be got from a list a by leaving out numbers, in which each "
            "number is $than the one before it."
        ),
        program="""def longest(a):
    best = []
    for i, v in enumerate(a):
        best.append(1 + max((best[j] for j in range(i) if a[j] $before v), default=0))
    return max(best, default=0)
""",
        mistakes=(
            ("range(i)", "range(max(0, i - 2), i)"),
            ("max(best, default=0)", "best[-1] if best else 0"),
            ("a[j] $before v", "a[j] $other v"),
            ("1 + max(", "1 + min("),
        ),
        variants=(
            {"than": "greater", "before": "<", "other": "<="},
            {"than": "at least as great", "before": "<=", "other": "<"},
            {"than": "less", "before": ">", "other": ">="},
            {"than": "at least 2 greater", "before": "+ 2 <=", "other": "+ 2 <"},
        ),
        draw=lambda rng: [numbers(rng, 1, 10, 0, 9)],
        edges=([[]], [[3]], [[2, 2, 2]], [[5, 4, 3]], [[1, 3, 2, 4]], [[1, 8, 9, 2, 3, 4]], [[1, 2, 3, 0]]),
    ),
    Family(
        name="edits",
        level="hard",
        entry_point="edits",
        parameters=("s", "t"),
        statement=(
            "A text s is turned into a text t character by character: putting in a character costs $put, taking one "
            "out $take, changing one into another $change. Return the least cost."
        ),
        program="""def edits(s, t):
    row = [j * $put for j in range(len(t) + 1)]
    for i, c in enumerate(s, start=1):
        last, row[0] = row[0], i * $take
        for j, d in enumerate(t, start=1):
            changed = last + (0 if c == d else $change)
            last, row[j] = row[j], min(changed, row[j] + $take, row[j - 1] + $put)
    return row[-1]
""",
        mistakes=(
            ("0 if c == d else $change", "$change"),
            ("row[0], i * $take", "row[0], 0"),
            ("j * $put for", "0 for"),
            ("min(changed, ", "min("),
            ("row[j - 1] + $put)", "row[j - 1] + $put + 1)"),
        ),
        variants=(
            {"put": "1", "take": "1", "change": "1"},
            {"put": "1", "take": "1", "change": "2"},
            {"put": "2", "take": "1", "change": "2"},
            {"put": "1", "take": "3", "change": "2"},
        ),
        draw=_two_texts,
        edges=(["", ""], ["abc", ""], ["", "ab"], ["abc", "abc"], ["abc", "bcd"]),
    ),
    Family(
        name="knapsack",
        level="hard",
        form="stdin",
        statement=(
            "The first line holds n and a capacity. Each of the next n lines holds the weight and the worth of a "
            "thing, $often. Print the largest sum of worths of things whose weights sum to $limit$failed."
        ),
        program="""n, capacity = map(int, input().split())
best = $start
for _ in range(n):
    weight, worth = map(int, input().split())
    for room in $rooms:
        best[room] = max(best[room], best[room - weight] + worth)
print(max(best[capacity], $least))
""",
        mistakes=(
            ("+ worth)", "+ weight)"),
            ("in $rooms", "in $other"),
            ("range(n)", "range(n - 1)"),
            ("best = $start", "best = $different"),
        ),
        variants=(
            {
                **{"often": "which can be taken once", "limit": "at most the capacity", "failed": "", "least": "0"},
                **{"rooms": "range(capacity, weight - 1, -1)", "other": "range(weight, capacity + 1)"},
                **{"start": "[0] * (capacity + 1)", "different": "[0] + [-1000] * capacity"},
            },
            {
                **{"often": "which can be taken any number of times", "limit": "at most the capacity"},
                **{"failed": "", "least": "0"},
                **{"other": "range(capacity, weight - 1, -1)", "rooms": "range(weight, capacity + 1)"},
                **{"start": "[0] * (capacity + 1)", "different": "[0] + [-1000] * capacity"},
            },
            {
                **{"often": "which can be taken once", "limit": "the capacity exactly"},
                **{"failed": "; -1 if no choice does", "least": "-1"},
                **{"rooms": "range(capacity, weight - 1, -1)", "other": "range(weight, capacity + 1)"},
                **{"different": "[0] * (capacity + 1)", "start": "[0] + [-1000] * capacity"},
            },
            {
                **{"often": "which can be taken any number of times", "limit": "the capacity exactly"},
                **{"failed": "; -1 if no choice does", "least": "-1"},
                **{"other": "range(capacity, weight - 1, -1)", "rooms": "range(weight, capacity + 1)"},
                **{"different": "[0] * (capacity + 1)", "start": "[0] + [-1000] * capacity"},
            },
        ),
        draw=_goods,
        edges=("1 5\n5 3\n", "1 4\n5 3\n", "1 4\n2 3\n", "2 5\n2 3\n3 9\n", "1 5\n2 4\n"),
    ),
    Family(
        name="coins",
        level="hard",
        entry_point="change",
        parameters=("coins", "amount"),
        statement="coins is a list of different positive integers. Return $what.",
        program="""def change(coins, amount):
    ways = [1] + [0] * amount
    $loops
    return ways[amount]
""",
        mistakes=(
            ("[1] + [0] * amount", "[1] + [1] * amount"),
            ("$loops", "$other"),
            ("ways[amount]", "sum(ways[1:])"),
            ("in coins", "in coins[1:]"),
        ),
        variants=(
            {
                "what": (
                    "in how many ways coins can be chosen that sum to amount, each as often as one likes; ways that "
                    "differ only in order are one"
                ),
                **{"loops": _UNORDERED, "other": _ORDERED},
            },
            {
                "what": (
                    "in how many ways amount can be paid with coins one after another, each as often as one likes; "
                    "another order is another way"
                ),
                **{"loops": _ORDERED, "other": _UNORDERED},
            },
            {
                "what": "in how many ways coins can be chosen that sum to amount, each at most once",
                **{"loops": _ONCE, "other": _UNORDERED},
            },
            {
                "what": "1 if coins can be chosen that sum to amount, each at most twice, else 0",
                **{"loops": _TWICE, "other": _ONCE},
            },
        ),
        draw=lambda rng: [sorted(set(numbers(rng, 1, 4, 1, 7))), whole(rng, 1, 14)],
        edges=([[1, 2], 3], [[5], 3], [[2, 3], 5], [[1, 2, 5], 0], [[3], 6], [[3], 9], [[1, 2, 3], 6]),
    ),
    Family(
        name="common_texts",
        level="hard",
        entry_point="common",
        parameters=("s", "t"),
        statement="Return $what.",
        program="""def common(s, t):
    table = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]
    for i, c in enumerate(s):
        for j, d in enumerate(t):
            table[i + 1][j + 1] = table[i][j] + 1 if c == d else $otherwise
    return $result
""",
        mistakes=(
            ("table[i][j] + 1 if", "table[i][j + 1] + 1 if"),
            ("else $otherwise", "else $other"),
            ("return $result", "return $different"),
            ("enumerate(s)", "enumerate(s[:-1])"),
        ),
        variants=(
            {
                "what": "the length of the longest text that can be got from both s and t by leaving out characters",
                **{"otherwise": "max(table[i][j + 1], table[i + 1][j])", "other": "0"},
                **{"result": "table[-1][-1]", "different": "max(table[-1][-1], len(set(s) & set(t)))"},
            },
            {
                "what": "the length of the longest run of characters that s and t both contain",
                **{"other": "max(table[i][j + 1], table[i + 1][j])", "otherwise": "0"},
                **{"result": "max(map(max, table))", "different": "max(table[-1])"},
            },
            {
                "what": (
                    "the length of the shortest text from which both s and t can be got by leaving out characters"
                ),
                **{"otherwise": "max(table[i][j + 1], table[i + 1][j])", "other": "table[i][j + 1]"},
                **{
                    "result": "len(s) + len(t) - table[-1][-1]",
                    "different": "len(s) + len(t) - max(table[-1][:-1] + [0])",
                },
            },
            {
                "what": "how few characters must be left out of s and t, in both together, to make them equal",
                **{"otherwise": "max(table[i][j + 1], table[i + 1][j])", "other": "table[i + 1][j]"},
                **{"result": "len(s) + len(t) - 2 * table[-1][-1]", "different": "len(s) + len(t) - table[-1][-1]"},
            },
        ),
        draw=_two_texts,
        edges=(["", ""], ["abc", "abc"], ["abc", "ca"], ["ab", ""], ["abcab", "bcaab"]),
    ),
    Family(
        name="best_run",
        level="hard",
        entry_point="best",
        parameters=("a",),
        statement="Return the largest sum of numbers in a row in a list a of at least three, $rule.",
        program="""def best(a):
    n = len(a)
    sums = [0]
    for v in $line:
        sums.append(sums[-1] + v)
    return max(
        sums[j] - sums[i] for i in range(n) for j in range(i + $least, len(sums)) if j - i <= $most
    )
""",
        mistakes=(
            ("range(n)", "range(n - 1)"),
            ("range(i + $least, len(sums))", "range(i, len(sums))"),
            ("j - i <= $most", "j - i < $most"),
            ("in $line", "in $other"),
            ("range(i + $least, len(sums))", "range(i + $least, len(sums) - 1)"),
        ),
        variants=(
            {"rule": "at least one of them", "line": "a", "least": "1", "most": "n", "other": "a + a"},
            {"rule": "at least two of them", "line": "a", "least": "2", "most": "n", "other": "a + a"},
            {"rule": "one, two or three of them", "line": "a", "least": "1", "most": "3", "other": "a[::2]"},
            {
                "rule": "at least one of them; a counts as a ring, whose last number is followed by the first",
                **{"line": "a + a", "least": "1", "most": "n", "other": "a"},
            },
        ),
        draw=lambda rng: [numbers(rng, 3, 8, -9, 9)],
        edges=([[-3, -1, -2]], [[1, 2, 3]], [[5, -9, 6]], [[-5, -9, 6]], [[2, -1, 2, 2]], [[-9, -9, 4]]),
    ),
    Family(
        name="palindromes",
        level="hard",
        entry_point="palindromes",
        parameters=("s",),
        statement=(
            "Look at the pieces of a text s (one or more of its characters in a row) that read the same backwards. "
            "Return $what."
        ),
        program="""def palindromes(s):
    spans = []
    for centre in range(2 * len(s) - 1):
        i, j = centre // 2, (centre + 1) // 2
        while i >= 0 and j < len(s) and s[i] == s[j]:
            spans.append((i, j + 1))
            i, j = i - 1, j + 1
    return $result
""",
        mistakes=(
            ("(centre + 1) // 2", "centre // 2"),
            ("range(2 * len(s) - 1)", "range(2 * len(s) - 2)"),
            ("i >= 0", "i > 0"),
            ("$result", "$other"),
        ),
        variants=(
            {
                "what": "how many there are; equal ones in different places count each",
                **{"result": "len(spans)", "other": "len({s[i:j] for i, j in spans})"},
            },
            {
                "what": "the length of the longest, 0 if there is none",
                **{"result": "max((j - i for i, j in spans), default=0)"},
                **{"other": "max((j - i for i, j in spans[:9]), default=0)"},
            },
            {
                "what": "how many different ones there are",
                **{"result": "len({s[i:j] for i, j in spans})", "other": "len(spans)"},
            },
            {
                "what": "the sum of their lengths; equal ones in different places count each",
                **{"result": "sum(j - i for i, j in spans)", "other": "sum({j - i for i, j in spans})"},
            },
        ),
        draw=lambda rng: [letters(rng, 0, 9, "aab")],
        edges=([""], ["a"], ["aa"], ["abba"], ["abc"], ["aabaa"]),
    ),
    Family(
        name="longest_window",
        level="hard",
        entry_point="longest",
        parameters=("s",),
        statement="Return the length of the longest run of characters in a text s that has $what.",
        program="""def longest(s):
    best = start = 0
    for end in range(1, len(s) + 1):
        while not fits(s[start:end]):
            start += 1
        best = max(best, end - start)
    return best


def fits(piece):
    return $test
""",
        mistakes=(
            ("end - start)", "end - start - 1)"),
            ("range(1, len(s) + 1)", "range(1, len(s))"),
            ("start += 1", "start = end"),
            ("return $test", "return $other"),
        ),
        variants=(
            {"what": "no character twice", "test": "len(set(piece)) == len(piece)", "other": "len(piece) < 2"},
            {"what": "at most two different ones", "test": "len(set(piece)) <= 2", "other": "len(set(piece)) <= 1"},
            {
                "what": "each character at most twice",
                **{
                    "test": "all(piece.count(c) <= 2 for c in piece)",
                    "other": "all(piece.count(c) <= 3 for c in piece)",
                },
            },
            {"what": "at most two 'a'", "test": "piece.count('a') <= 2", "other": "piece.count('a') < 2"},
        ),
        draw=lambda rng: [letters(rng, 0, 10, "aabcd")],
        edges=([""], ["a"], ["aaa"], ["abcabc"], ["abcd"], ["aabbcc"]),
    ),
)
