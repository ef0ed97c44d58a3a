"""`masgym import NAME SOURCE`: public data sets become files of tasks."""

import argparse
from typing import Any

from masgym.cli.arguments import command, path
from masgym.importers import SETS, import_set
from masgym.importers.sources import Hub
from masgym.tasks import SPLITS


def add(commands: Any) -> None:
    about = "turn a public data set into a file of tasks, for masgym.make(DOMAIN, tasks=FILE)"
    parser = command(commands, "import", about, "masgym import aime24 rows.jsonl --out aime24.jsonl", run)
    parser.add_argument("name", metavar="NAME", help=f"the set: {', '.join(SETS)}")
    parser.add_argument(
        "source",
        metavar="SOURCE",
        type=path,
        help="a .json, .jsonl, .jsonl.gz or .parquet file, a folder, or a hub id (boxoban: a level file or a folder)",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="the .jsonl file to write")
    parser.add_argument(
        "--split",
        choices=SPLITS,
        help="the split that all tasks are in (default: test for evaluation sets, else by the hash of their content)",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="write at most N tasks")
    parser.add_argument("--hub-config", metavar="CONFIG", help="the configuration of a hub's data set")
    parser.add_argument("--hub-split", metavar="SPLIT", help="the split of a hub's data set that is read")


def run(arguments: argparse.Namespace) -> int:
    hub = Hub(config=arguments.hub_config, split=arguments.hub_split)
    made = import_set(
        arguments.name, arguments.source, arguments.out, split=arguments.split, limit=arguments.limit, hub=hub
    )
    splits = ", ".join(f"{split} {made.splits[split]}" for split in SPLITS if split in made.splits)
    print(f'{made.written} tasks ({splits}): masgym.make("{made.domain}", tasks="{arguments.out}")')
    for reason, count in sorted(made.left_out.items()):
        print(f"left out {count}: {reason}")
    return 0
