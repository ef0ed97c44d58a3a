"""Faults forged into the rows of `rollout_files.tree`: rows -> rows."""

import math

from rollout_files import divided, with_advantages


def later_prompts_from_another_copy(rows):
    for row in rows:
        if row["turn"] and row["agent"] == "actor_0":
            row["prompt"] += f" {row['reply']}"
        yield row


def one_reward_for_the_tool(rows):
    return with_advantages([row | ({"reward": 1.0} if row["agent"] == "tool_0" else {}) for row in rows], divided)


def tasks_in_one_group(rows):
    """Candidates of a group are of one agent and turn, and of two tasks."""
    joined = [row | {"group": f"{int(row['task'][5:]) // 2}/{row['turn']}/{row['agent']}"} for row in rows]
    return with_advantages(joined, divided)


def start_position(rows):
    board = "#####\n#.$@#\n#####"
    return (row | {"prompt": f"Turn {row['turn'] + 1}\n\n{board}\n\nYou said: {row['turn'] * 'R'}"} for row in rows)


def only_the_counter_moves(rows):
    return (row | {"prompt": f"Turn {row['turn'] + 1} of 3: task {row['task']} for {row['agent']}"} for row in rows)


def positive_logps(rows):
    return (row | {"logps": [0.1, *row["logps"][1:]]} for row in rows)


def infinite_logps(rows):
    return (row | {"logps": [-math.inf, *row["logps"][1:]]} for row in rows)


def too_few_logps(rows):
    return (row | {"logps": row["logps"][1:]} for row in rows)


def unnormalised_logps(rows):
    return (row | {"logps": [logp / 3 for logp in row["logps"]]} for row in rows)


def failed_generations(rows):
    return (row | ({"reply": "", "tokens": [], "logps": []} if i == 7 else {}) for i, row in enumerate(rows))


def a_term_never_set(rows):
    return (row | {"terms": {**row["terms"], "potential": 0.0}} for row in rows)


def seeds_that_do_not_arrive(rows):
    return (row | {"task": "task/0"} for row in rows)


def mixed_agents(rows):
    return with_advantages([row | {"group": f"{row['task']}/{row['turn']}"} for row in rows], divided)


def last_turns_only(rows):
    return (row for row in rows if row["turn"] == 2)


def advantages_of_another_group(rows):
    rows = list(rows)
    return (row | {"advantage": rows[(i + 6) % len(rows)]["advantage"]} for i, row in enumerate(rows))


def not_centred(rows):
    return (row | {"advantage": row["reward"]} for row in rows)


def turned_sign(rows):
    return (row | {"advantage": -row["advantage"]} for row in rows)


FORGED = [  # what is forged, the numbers of the faults that are then seen
    (later_prompts_from_another_copy, {1}),
    (one_reward_for_the_tool, {2}),
    (tasks_in_one_group, {3}),
    (start_position, {5}),
    (only_the_counter_moves, {5}),
    (positive_logps, {6}),
    (infinite_logps, {6}),
    (too_few_logps, {6}),
    (unnormalised_logps, {6}),
    (failed_generations, {7}),
    (a_term_never_set, {9}),
    (seeds_that_do_not_arrive, {10}),
    (mixed_agents, {13}),
    (last_turns_only, {13}),
    (advantages_of_another_group, {None}),
    (not_centred, {None}),
    (turned_sign, {None}),
]
