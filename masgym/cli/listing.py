"""`masgym list`: what there is to play, and who can play it."""

import argparse
from typing import Any

from rich.table import Table

from masgym.agents.names import forms
from masgym.cli.arguments import add_json, command
from masgym.cli.screen import console, print_json
from masgym.registry import game, list_domains, list_levels, list_workflows
from masgym.types import JSON


def add(commands: Any) -> None:
    add_json(command(commands, "list", "list domains, levels, workflows, roles and agents", "masgym list --json", run))


def run(arguments: argparse.Namespace) -> int:
    found = everything()
    if arguments.json:
        print_json(found)
        return 0
    domains = _table("domain", "levels", "calls its speakers")
    for name, domain in found["domains"].items():
        titles = ", ".join(f"{title} ({slot})" for slot, title in domain["titles"].items())
        domains.add_row(name, ", ".join(domain["levels"]) or "-", titles)
    workflows = _table("workflow", "roles", "agents")
    for name, workflow in found["workflows"].items():
        workflows.add_row(name, ", ".join(workflow["roles"]), ", ".join(workflow["agents"]))
    console().print(domains, workflows)
    print("agents:", *found["agents"], sep="\n  ")
    return 0


def everything() -> dict[str, JSON]:
    """What `--json` prints."""
    first = list_domains()[0]
    workflows = {name: game(first, name) for name in list_workflows()}
    return {
        "domains": {
            name: {"levels": list(list_levels(name)), "titles": dict(game(name).domain.titles)}
            for name in list_domains()
        },
        "workflows": {
            name: {
                "roles": list(made.roles),
                "agents": list(made.agents),
                "slots": {agent: made.slot(agent) for agent in made.agents},
            }
            for name, made in workflows.items()
        },
        "agents": list(forms()),
    }


def _table(*header: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in header:
        table.add_column(name)
    return table
