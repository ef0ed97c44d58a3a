"""A third party's teams behind one `act(observation)`. What they call are the interfaces of two frameworks: a compiled
LangGraph graph has `invoke({"messages": [...]})`, an AutoGen team has `await run(task=...)`. Here stand-ins have them.

    masgym eval plan_path --workflow solo --agent python:their_team:GraphTeam
"""

from collections import deque
from types import SimpleNamespace


class GraphTeam:
    """A graph whose nodes hand on a state: one reads the board, one plans, one writes the answer."""

    def __init__(self):
        self.graph = Graph(read_board, plan, write_answer)

    def act(self, observation):
        chat = [{"role": message.role, "content": message.content} for message in observation.messages]
        return self.graph.invoke({"messages": chat})["messages"][-1]["content"]


class ConversationTeam:
    """Members that talk until one of them answers."""

    def __init__(self):
        self.team = Conversation(Graph(read_board, plan, write_answer))

    async def act(self, observation):
        result = await self.team.run(task=observation.text)
        return result.messages[-1].content


class Graph:
    def __init__(self, *nodes):
        self.nodes = nodes

    def invoke(self, state):
        for node in self.nodes:
            state = {**state, **node(state)}
        return state


class Conversation:
    def __init__(self, graph):
        self.graph = graph

    async def run(self, task):
        said = self.graph.invoke({"messages": [{"role": "user", "content": task}]})["messages"]
        return SimpleNamespace(messages=[SimpleNamespace(content=message["content"]) for message in said])


def read_board(state):
    """The longest run of lines of one width, of cells only."""
    runs = [[]]
    for line in state["messages"][-1]["content"].splitlines():
        board = len(line) > 3 and set(line) <= set("#.@G")
        runs.append([*runs.pop(), line] if board else [])
        runs += [[]] if not board else []
    return {"board": max(runs, key=len)}


def plan(state):
    """A shortest way from @ to G, by breadth-first search."""
    cells = {(y, x): cell for y, row in enumerate(state["board"]) for x, cell in enumerate(row) if cell != "#"}
    start = next(at for at, cell in cells.items() if cell == "@")
    ways, waiting = {start: ""}, deque([start])
    while waiting:
        y, x = at = waiting.popleft()
        if cells[at] == "G":
            return {"moves": ways[at]}
        for move, to in {"U": (y - 1, x), "D": (y + 1, x), "L": (y, x - 1), "R": (y, x + 1)}.items():
            if to in cells and to not in ways:
                ways[to] = ways[at] + move
                waiting.append(to)
    return {"moves": ""}


def write_answer(state):
    return {"messages": [*state["messages"], {"content": f"I go <answer>{' '.join(state['moves'][:4])}</answer>"}]}
