"""A suite is a file of `configs/suite`: domains x methods x seeds, each a run at the same budget of sampled tokens."""

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from masgym.errors import BadFile, BadValue, UnknownName
from masgym.types import JSON, value
from mastrain.__main__ import compose_run
from mastrain.paths import configs_dir


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
    overrides: tuple[str, ...]
    config: Mapping[str, JSON]  # composed, but for where it is written

    @property
    def hash(self) -> str:
        """Of all that the run depends on: equal hashes, equal results."""
        return hashlib.sha256(json.dumps(self.config, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        return f"{self.domain}, {self.method}, seed {self.seed}"


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
            domains={label: tuple(overrides) for label, overrides in given["domains"].items()},
            methods={label: tuple(overrides) for label, overrides in given["methods"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFile(
            f"{name}.yaml is no suite ({error!r}); seeds and common (lists), domains and methods (label: [overrides]) "
            "were expected."
        ) from error


def cells(suite: Suite, more: Sequence[str] = ()) -> list[Cell]:
    """All runs of a suite, seed by seed so that what is done first already compares; `more` are overrides of all of
    them. Raises MasgymError for overrides that do not compose."""
    found = list[Cell]()
    for seed, domain, method in itertools.product(suite.seeds, suite.domains, suite.methods):
        overrides = (*suite.common, *suite.domains[domain], *suite.methods[method], *more, f"seed={seed}")
        config = compose_run([*overrides, "run_dir=-"])
        found.append(Cell(domain=domain, method=method, seed=seed, overrides=overrides, config=config))
    return found


def with_seeds(suite: Suite, seeds: str) -> Suite:
    """The suite with other seeds: `0,1,2`. Raises BadValue."""
    try:
        numbers = tuple(int(seed) for seed in seeds.split(","))
    except ValueError as error:
        raise BadValue(f"seeds={seeds}; whole numbers were expected, as in seeds=0,1,2.") from error
    return replace(suite, seeds=numbers)
