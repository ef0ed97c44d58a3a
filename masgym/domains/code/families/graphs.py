"""Families of hard level on grids and graphs."""

from typing import Any

import numpy as np

from masgym.domains.code.families.template import Family, grid, numbers, pick, whole

_THREE = "((1, 0), (-1, 0), (0, 1))"
_FOUR = "((1, 0), (-1, 0), (0, 1), (0, -1))"
_EIGHT = "((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))"
_KNIGHT = "((1, 2), (1, -2), (-1, 2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1))"
_PLAIN, _WRAPPED = "(row + down, column + right)", "((row + down) % rows, (column + right) % columns)"


def _maze(rng: np.random.Generator) -> str:
    rows = grid(rng, 2, 6, "...#")
    rows[0], rows[-1] = f".{rows[0][1:]}", f"{rows[-1][:-1]}."
    return "\n".join([f"{len(rows)} {len(rows[0])}", *rows]) + "\n"


def _roads(rng: np.random.Generator) -> str:
    n, m = whole(rng, 2, 6), whole(rng, 1, 11)
    lines = [f"{whole(rng, 1, n)} {whole(rng, 1, n)} {whole(rng, 1, 9)}" for _ in range(m)]
    return "\n".join([f"{n} {m}", *lines]) + "\n"


def _tasks(rng: np.random.Generator) -> list[Any]:
    n = whole(rng, 1, 6)
    order = rng.permutation(n).tolist()
    edges = list[list[int]]()
    for _ in range(whole(rng, 0, 7)):
        a, b = sorted(numbers(rng, 2, 2, 0, n - 1))
        if a != b:
            edges.append([order[a], order[b]])
    if edges and rng.random() < 0.25:
        edges.append(pick(rng, edges)[::-1])
    return [n, edges]


FAMILIES = (
    Family(
        name="maze",
        level="hard",
        form="stdin",
        statement=(
            "The first line holds the numbers of rows and columns, at least 2; then come the rows of a grid of free "
            "cells '.' and walls '#'. Print the fewest moves from the top left to the bottom right cell over free "
            "cells, -1 if there is no way. A move leads $moves."
        ),
        program="""from collections import deque

rows, columns = map(int, input().split())
grid = [input() for _ in range(rows)]
moves = $steps
steps = {(0, 0): 0}
queue = deque(steps)
while queue:
    row, column = queue.popleft()
    for down, right in moves:
        to = $to
        if 0 <= to[0] < rows and 0 <= to[1] < columns and grid[to[0]][to[1]] == "." and to not in steps:
            steps[to] = steps[row, column] + 1
            queue.append(to)
print(steps.get((rows - 1, columns - 1), -1))
""",
        mistakes=(
            ("queue.popleft()", "queue.pop()"),
            (", -1))", ", 0))"),
            ("moves = $steps", "moves = $other"),
            ('== "." and', '!= "" and'),
            ("to = $to", "to = $elsewhere"),
        ),
        variants=(
            {
                "moves": "to one of the four cells beside",
                **{"steps": _FOUR, "other": "((1, 0), (0, 1))", "to": _PLAIN, "elsewhere": _WRAPPED},
            },
            {
                "moves": "to one of the eight cells around",
                **{"steps": _EIGHT, "other": _FOUR, "to": _PLAIN, "elsewhere": _WRAPPED},
            },
            {
                "moves": "as a knight's in chess (two cells in one direction and one across), over whatever is between",
                **{"steps": _KNIGHT, "other": _EIGHT, "to": _PLAIN, "elsewhere": _WRAPPED},
            },
            {
                "moves": "to the cell above, below or to the right",
                **{"steps": _THREE, "other": _FOUR, "to": _PLAIN, "elsewhere": _WRAPPED},
            },
        ),
        draw=_maze,
        edges=("2 2\n..\n..\n", "2 2\n.#\n#.\n", "3 3\n...\n.#.\n...\n", "3 3\n.#.\n.#.\n.#.\n"),
    ),
    Family(
        name="roads",
        level="hard",
        form="stdin",
        statement=(
            "The first line holds n and m. Each of the next m lines holds u v w: a road from place u to place v of "
            "length w, $way. Places have the numbers 1 to n, n at least 2. Print the least possible $cost on a way "
            "from place 1 to place n, or -1 if there is none."
        ),
        program="""import heapq

n, m = map(int, input().split())
roads = [[] for _ in range(n + 1)]
for _ in range(m):
    u, v, w = map(int, input().split())
    roads[u].append((v, w))
    $back
best = [None] * (n + 1)
heap = [(0, 1)]
while heap:
    length, u = heapq.heappop(heap)
    if best[u] is not None:
        continue
    best[u] = length
    for v, w in roads[u]:
        heapq.heappush(heap, ($join, v))
print(-1 if best[n] is None else best[n])
""",
        mistakes=(
            ("$join", "$other"),
            ("heapq.heappop(heap)", "heap.pop(0)"),
            ("-1 if", "0 if"),
            ("    $back", "    $flip"),
            ("range(m)", "range(m - 1)"),
        ),
        variants=(
            {
                **{
                    "way": "which can be used in that direction only",
                    "back": "pass",
                    "flip": "roads[v].append((u, w))",
                },
                **{"cost": "sum of the lengths", "join": "length + w", "other": "length + 1"},
            },
            {
                **{"way": "which can be used in both directions", "back": "roads[v].append((u, w))", "flip": "pass"},
                **{"cost": "sum of the lengths", "join": "length + w", "other": "length + 1"},
            },
            {
                **{
                    "way": "which can be used in that direction only",
                    "back": "pass",
                    "flip": "roads[v].append((u, w))",
                },
                **{"cost": "length of the longest road", "join": "max(length, w)", "other": "length + w"},
            },
            {
                **{"way": "which can be used in both directions", "back": "roads[v].append((u, w))", "flip": "pass"},
                **{"cost": "number of roads longer than 4", "join": "length + (w > 4)", "other": "length + (w >= 4)"},
            },
        ),
        draw=_roads,
        edges=(
            "2 1\n1 2 5\n",
            "2 1\n2 1 5\n",
            "3 3\n1 3 9\n1 2 4\n2 3 4\n",
            "4 4\n1 2 1\n2 4 8\n1 3 5\n3 4 5\n",
        ),
    ),
    Family(
        name="task_order",
        level="hard",
        entry_point="order",
        parameters=("n", "edges"),
        statement=(
            "There are tasks 0 to n - 1. Each edge [a, b] says that a must be done before b. They are done one by one: "
            "always the $which of those that can be done next. Return the list of tasks in the order in which they are "
            "done; $failed."
        ),
        program="""import heapq


def order(n, edges):
    after = [[] for _ in range(n)]
    waits = [0] * n
    for a, b in edges:
        after[a].append(b)
        waits[b] += 1
    ready = [$sign * v for v in range(n) if waits[v] == 0]
    heapq.heapify(ready)
    made = []
    while ready:
        v = $sign * heapq.heappop(ready)
        made.append(v)
        for b in after[v]:
            waits[b] -= 1
            if waits[b] == 0:
                heapq.heappush(ready, $sign * b)
    return made if len(made) == n else $otherwise
""",
        mistakes=(
            ("heapq.heappop(ready)", "ready.pop()"),
            ("waits[b] += 1", "waits[b] = 1"),
            ("else $otherwise", "else $other"),
            ("heapq.heappush(ready, $sign * b)", "ready.append($sign * b)"),
        ),
        variants=(
            {
                **{"which": "smallest", "failed": "[] if they cannot all be done", "sign": "1"},
                **{"otherwise": "[]", "other": "made"},
            },
            {
                **{"which": "largest", "failed": "[] if they cannot all be done", "sign": "-1"},
                **{"otherwise": "[]", "other": "made"},
            },
            {
                **{"which": "smallest", "failed": "if they cannot all be done, those that can", "sign": "1"},
                **{"otherwise": "made", "other": "[]"},
            },
            {
                **{"which": "largest", "failed": "if they cannot all be done, None", "sign": "-1"},
                **{"otherwise": "None", "other": "made"},
            },
        ),
        draw=_tasks,
        edges=(
            [3, []],
            [2, [[1, 0]]],
            [2, [[0, 1], [1, 0]]],
            [3, [[0, 1], [1, 2], [2, 1]]],
            [4, [[0, 1], [0, 2], [2, 1], [3, 0]]],
        ),
    ),
    Family(
        name="islands",
        level="hard",
        entry_point="islands",
        parameters=("grid",),
        statement=(
            "A grid is a list of texts of equal length, with land '#' and water '.'. Land cells that lie side by side, "
            "not only corner to corner, belong to one island. Return $what."
        ),
        program="""def islands(grid):
    rows, columns = len(grid), len(grid[0])
    seen, found = set(), []
    for row in range(rows):
        for column in range(columns):
            if grid[row][column] != "#" or (row, column) in seen:
                continue
            stack, cells = [(row, column)], []
            seen.add((row, column))
            while stack:
                r, c = stack.pop()
                cells.append((r, c))
                for to in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                    if 0 <= to[0] < rows and 0 <= to[1] < columns and grid[to[0]][to[1]] == "#" and to not in seen:
                        seen.add(to)
                        stack.append(to)
            found.append(cells)
    return $result
""",
        mistakes=(
            ("(r, c - 1))", "(r + 1, c + 1))"),
            ("(r, c - 1))", "(r, c - 1), (r + 1, c - 1))"),
            ("(r - 1, c), ", ""),
            ("range(columns):", "range(columns - 1):"),
            ("$result", "$other"),
        ),
        variants=(
            {"what": "the number of islands", "result": "len(found)", "other": "min(len(found), 3)"},
            {
                "what": "the number of cells of the largest island, 0 if there is none",
                "result": "max(map(len, found), default=0)",
                "other": "len(found[0]) if found else 0",
            },
            {
                "what": "the numbers of cells of the islands, from small to large",
                "result": "sorted(map(len, found))",
                "other": "list(map(len, found))",
            },
            {
                "what": "how many islands have no cell in the first or last row or column",
                "result": "sum(all(0 < r < rows - 1 and 0 < c < columns - 1 for r, c in cells) for cells in found)",
                "other": "sum(any(0 < r < rows - 1 and 0 < c < columns - 1 for r, c in cells) for cells in found)",
            },
        ),
        draw=lambda rng: [grid(rng, 2, 6, "..##")],
        edges=(
            [["."]],
            [["#"]],
            [["#.", ".#"]],
            [["...", ".#.", "..."]],
            [["..#", "#.#", "###"]],
            [[".....", ".#.#.", ".#.#.", "....."]],
            [["#.#", "###"]],
            [["....", ".##.", ".#..", ".##.", "...."]],
        ),
    ),
    Family(
        name="grid_ways",
        level="hard",
        entry_point="ways",
        parameters=("grid",),
        statement=(
            "A grid is a list of texts of equal length, with free cells '.' and walls '#'. Return in how many ways "
            "one can go from $start to the bottom right cell over free cells, each step leading one cell $steps. There "
            "are none if one of the two is a wall."
        ),
        program="""def ways(grid):
    rows, columns = len(grid), len(grid[0])
    count = [[0] * (columns + 1) for _ in range(rows + 1)]
    for r in range(rows):
        for c in range(columns):
            if grid[r][c] == ".":
                count[r + 1][c + 1] = ($first) + count[r][c + 1] + count[r + 1][c] + count[r][c] * $diagonal
    return count[rows][columns]
""",
        mistakes=(
            ("+ count[r + 1][c] +", "+"),
            ("count[r][c] * $diagonal", "count[r][c] * (1 - $diagonal)"),
            ('== "."', '!= ""'),
            ("$first", "$other"),
        ),
        variants=(
            {
                "start": "the top left",
                "steps": "right or down",
                "first": "r == c == 0",
                "diagonal": "0",
                "other": "r == 0",
            },
            {
                **{"start": "the top left", "steps": "right, down, or right and down at once"},
                **{"first": "r == c == 0", "diagonal": "1", "other": "c == 0"},
            },
            {
                **{"start": "any cell of the first row", "steps": "right or down"},
                **{"first": "r == 0", "diagonal": "0", "other": "r == c == 0"},
            },
            {
                **{"start": "any cell of the first column", "steps": "right, down, or right and down at once"},
                **{"first": "c == 0", "diagonal": "1", "other": "r == c == 0"},
            },
        ),
        draw=lambda rng: [grid(rng, 1, 5, "....#")],
        edges=([["."]], [["#"]], [["..", ".."]], [["...", ".#.", "..."]], [[".#", "#."]]),
    ),
)
