"""Families of medium level that are scripts."""

import numpy as np

from masgym.domains.code.families.template import Family, pick, whole


def _ledger(rng: np.random.Generator) -> str:
    lines = [f"{pick(rng, ('ann', 'bob', 'cy', 'dee'))} {whole(rng, -3, 6)}" for _ in range(whole(rng, 1, 7))]
    return "\n".join([str(len(lines)), *lines]) + "\n"


FAMILIES = (
    Family(
        name="ledger",
        level="medium",
        form="stdin",
        statement=(
            "The first line holds n. Each of the next n lines holds a name and an integer. Add up the integers of each "
            "name; print a line with the name and its sum, separated by a space, $which."
        ),
        program="""n = int(input())
totals = {}
for _ in range(n):
    name, amount = input().split()
    totals[name] = totals.get(name, 0) + int(amount)
for name in $order:
    print(name, totals[name])
""",
        mistakes=(
            ("totals.get(name, 0) + int(amount)", "int(amount)"),
            ("totals.get(name, 0) + int(amount)", "totals.get(name, 0) + abs(int(amount))"),
            ("$order", "$other"),
            ("range(n)", "range(n - 1)"),
        ),
        variants=(
            {"which": "in alphabetical order", "order": "sorted(totals)", "other": "totals"},
            {
                "which": "from the largest sum to the smallest; equal sums in alphabetical order",
                "order": "sorted(totals, key=lambda name: (-totals[name], name))",
                "other": "sorted(totals, key=lambda name: -totals[name])",
            },
            {"which": "in the order in which the names first occur", "order": "totals", "other": "sorted(totals)"},
            {
                "which": "in alphabetical order, and only where the sum is above 0",
                "order": "[name for name in sorted(totals) if totals[name] > 0]",
                "other": "[name for name in sorted(totals) if totals[name] >= 0]",
            },
        ),
        draw=_ledger,
        edges=("1\nann 3\n", "2\nbob 1\nann 1\n", "2\nann 2\nann -2\n", "3\nbob 2\nann 1\nbob 2\n"),
    ),
    Family(
        name="clock",
        level="medium",
        form="stdin",
        statement=(
            "A line holds a time of day, as 09:05, and a number of minutes. Print the time of day that many minutes "
            "$way, in the same form$more."
        ),
        program="""start, minutes = input().split()
hours, rest = map(int, start.split(":"))
total = hours * 60 + rest $sign int(minutes)
days, now = divmod(total, 1440)
print($shown)
""",
        mistakes=(
            ("divmod(total, 1440)", "divmod(total, 1400)"),
            ("hours * 60 + rest", "hours * 60 - rest"),
            ("$shown", "$other"),
            ("$sign int(minutes)", "$sign int(minutes) % 60"),
        ),
        variants=(
            {
                "way": "later",
                "more": "",
                "sign": "+",
                "shown": 'f"{now // 60:02d}:{now % 60:02d}"',
                "other": 'f"{now // 60}:{now % 60:02d}"',
            },
            {
                "way": "earlier",
                "more": "",
                "sign": "-",
                "shown": 'f"{now // 60:02d}:{now % 60:02d}"',
                "other": 'f"{now // 60:02d}:{now % 60}"',
            },
            {
                "way": "later",
                "more": ", a space, and how many days later that is (0: the same day)",
                "sign": "+",
                "shown": 'f"{now // 60:02d}:{now % 60:02d} {days}"',
                "other": 'f"{now // 60:02d}:{now % 60:02d} {days % 2}"',
            },
            {
                "way": "earlier",
                "more": ", a space, and how many days earlier that is (0: the same day)",
                "sign": "-",
                "shown": 'f"{now // 60:02d}:{now % 60:02d} {-days}"',
                "other": 'f"{now // 60:02d}:{now % 60:02d} {days}"',
            },
        ),
        draw=lambda rng: f"{whole(rng, 0, 23):02d}:{whole(rng, 0, 59):02d} {whole(rng, 0, 4000)}\n",
        edges=("00:00 0\n", "23:59 1\n", "00:00 1\n", "09:05 55\n", "12:30 1440\n"),
    ),
)
