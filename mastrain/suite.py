"""A suite is a file of `configs/suite`: domains x methods x seeds, each a run at the same budget of sampled tokens.

    seeds: [0, 1, 2]
    domains: [sokoban]                                      names of shared/domains.yaml, or label: [override, ...]
    common: [budget.sampled_tokens=1000000]                 overrides of every run
    methods:                                                names of shared/methods.yaml, or label: [override, ...]
      srpo_tree: [srpo_tree]                                an item without "=" stands for the overrides of that name
      swapped: [algo=warm, "policies.init_from={tool: <joint>:actor, actor: <joint>:tool}"]

`<joint>` is the run of that method on the same domain and seed: it is made first, and its end is where this one begins.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import yaml

from masgym.errors import BadFile, BadValue, UnknownName
from masgym.types import JSON, value
from mastrain.__main__ import compose_run
from mastrain.paths import configs_dir

CELLS = "cells"  # the folder of runs in that of a suite
_REFERENCE = re.compile(r"<([^<>]+)>")


@value
class Suite:
    """What is compared with what."""

    name: str
    seeds: tuple[int, ...]
    common: tuple[str, ...]  # overrides of every run
    domains: Mapping[str, tuple[str, ...]]  # label -> overrides
    methods: Mapping[str, tuple[str, ...]]


@value
class Cell:
    """One run of a suite."""

    domain: str
    method: str
    seed: int
    config: Mapping[str, JSON]  # composed, but for where it is written; other cells in it are `cells/HASH`
    needs: tuple[str, ...] = ()  # hashes of the cells that it begins from

    @property
    def hash(self) -> str:
        """Of all that the run depends on, other cells too: equal hashes, equal results."""
        return hashlib.sha256(json.dumps(self.config, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        return f"{self.domain}, {self.method}, seed {self.seed}"

    def data(self, out: Path) -> dict[str, Any]:
        """The config of its run in the suite's folder `out`."""
        data = dict(self.config) | {"run_dir": str(out / CELLS / self.hash)}
        policies = cast(dict[str, Any], data["policies"])
        sources: Mapping[str, str] = policies["init_from"] or {}
        there = {p: str(out / s) if s.startswith(f"{CELLS}/") else s for p, s in sources.items()}
        return data | {"policies": policies | {"init_from": there or None}}


def read_suite(name: str) -> Suite:
    """The suite of that name. Raises UnknownName, and BadFile for a file that is none."""
    folder = configs_dir() / "suite"
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        raise UnknownName("suite", name, known)
    given: Any = yaml.safe_load((folder / f"{name}.yaml").read_text())
    try:
        return Suite(
            name=name,
            seeds=tuple(int(seed) for seed in given["seeds"]),
            common=tuple(given["common"]),
            domains=_chosen(given["domains"], folder / "shared" / "domains.yaml"),
            methods=_chosen(given["methods"], folder / "shared" / "methods.yaml"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, UnknownName):
            raise
        raise BadFile(
            f"{name}.yaml is no suite ({error!r}); seeds and common (lists), domains and methods (names, or label: "
            "[overrides]) were expected."
        ) from error


def _chosen(given: Any, file: Path) -> dict[str, tuple[str, ...]]:
    """Label -> overrides, with the names of `file` replaced by what they stand for."""
    shared: dict[str, list[str]] = yaml.safe_load(file.read_text()) if file.exists() else {}
    chosen: dict[str, list[str]] = given if isinstance(given, dict) else {name: [name] for name in given}
    return {
        label: tuple(o for item in items for o in _overrides(item, shared, file)) for label, items in chosen.items()
    }


def _overrides(item: str, shared: Mapping[str, Sequence[str]], file: Path) -> Sequence[str]:
    if "=" in item or item.startswith("~"):
        return [item]
    if item not in shared:
        raise UnknownName(f"name of {file.name}", item, shared)
    return shared[item]


def cells(suite: Suite, more: Sequence[str] = ()) -> list[Cell]:
    """All runs of a suite, seed by seed so that what is done first already compares, each after those that it begins
    from; `more` are overrides of all of them. Raises MasgymError for overrides that do not compose."""
    found = dict[tuple[int, str, str], Cell]()

    def cell(seed: int, domain: str, method: str, path: tuple[str, ...]) -> Cell:
        if method not in suite.methods:
            raise UnknownName(f"method in <...> of {path[-1]!r}", method, suite.methods)
        if method in path:
            raise BadValue(
                f"suite={suite.name}: {' begins from '.join([*path, method])}; no run can begin from itself."
            )
        if (seed, domain, method) not in found:
            found[seed, domain, method] = made(seed, domain, method, path)
        return found[seed, domain, method]

    def made(seed: int, domain: str, method: str, path: tuple[str, ...]) -> Cell:
        own = suite.methods[method]
        names = dict.fromkeys(name for override in own for name in _REFERENCE.findall(override))
        needs = {name: cell(seed, domain, name, (*path, method)).hash for name in names}
        own = [_REFERENCE.sub(lambda match: f"{CELLS}/{needs[match[1]]}", override) for override in own]
        overrides = [*suite.domains[domain], *suite.common, *own, *more, f"seed={seed}"]
        config = compose_run([*overrides, "run_dir=-"])
        return Cell(domain=domain, method=method, seed=seed, config=config, needs=tuple(needs.values()))

    for seed, domain, method in itertools.product(suite.seeds, suite.domains, suite.methods):
        cell(seed, domain, method, ())
    return list(found.values())


def with_seeds(suite: Suite, seeds: str) -> Suite:
    """The suite with other seeds: `0,1,2`. Raises BadValue."""
    try:
        numbers = tuple(int(seed) for seed in seeds.split(","))
    except ValueError as error:
        raise BadValue(f"seeds={seeds}; whole numbers were expected, as in seeds=0,1,2.") from error
    return replace(suite, seeds=numbers)
