"""Names of domains and workflows, imported when first used; the makers of games and environments."""

import importlib
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias

from masgym.errors import BadValue, MasgymError, UnknownName
from masgym.faces import OrderEnforcing, Parallel, RawAEC, Single, aec
from masgym.faces.catalogue import enter, pettingzoo_id
from masgym.game import Domain, Game, Workflow
from masgym.theirs import told
from masgym.types import JSON, Style, value

Entry: TypeAlias = str | Callable[..., Any]  # "module:attribute", or the class itself


@value
class Spec:
    """A name and the class that it stands for: a frozen dataclass (`Domain` or `Workflow`)."""

    name: str
    entry: Entry
    fixed: Mapping[str, JSON] = field(default_factory=dict)  # fields that the name itself gives

    @property
    def module(self) -> str:
        return self.entry.partition(":")[0] if isinstance(self.entry, str) else self.entry.__module__

    @property
    def attribute(self) -> str:
        return self.entry.partition(":")[2] if isinstance(self.entry, str) else self.entry.__qualname__

    def load(self) -> Any:
        if not isinstance(self.entry, str):
            return self.entry
        try:
            module = importlib.import_module(self.module)
        except Exception as error:  # somebody's package
            raise BadValue(f"entry {self.entry!r} of {self.name} cannot be imported: {told(error)}.") from error
        if not hasattr(module, self.attribute):
            raise BadValue(f"entry {self.entry!r} of {self.name}: the module has no {self.attribute!r}.")
        return getattr(module, self.attribute)

    def levels(self) -> Mapping[str, Mapping[str, JSON]]:
        """The presets of the entry's module: `LEVELS`, level -> fields; {} where it has none."""
        self.load()
        return getattr(sys.modules[self.module], "LEVELS", {})


_DOMAINS: dict[str, Spec] = {}
_WORKFLOWS: dict[str, Spec] = {}
_FAMILIES: Mapping[str, tuple[str, str]] = {  # `family/member` is a domain: its entry, and the field that is the member
    "reasoning_gym": ("masgym.foreign.reasoning_gym:ReasoningGym", "dataset"),
}


def register_domain(name: str, entry: Entry) -> None:
    """Makes `name` known to masgym, to PettingZoo (`masgym/NAME_v0`) and to Gymnasium (`masgym/Name-v0`).

    `entry` is "module:attribute", imported when first used, or the class itself. A module-level LEVELS beside it may
    hold presets of its fields. Raises BadValue for a name that is taken or that the registries cannot hold.
    """
    _register(_DOMAINS, "domain", name, entry)
    enter(name)


def register_workflow(name: str, entry: Entry) -> None:
    """Makes `name` known to masgym. As `register_domain`."""
    _register(_WORKFLOWS, "workflow", name, entry)


def list_domains() -> tuple[str, ...]:
    return tuple(_DOMAINS)


def list_workflows() -> tuple[str, ...]:
    return tuple(_WORKFLOWS)


def list_levels(domain: str) -> tuple[str, ...]:
    """The presets that `level=` takes."""
    return tuple(_find(_DOMAINS, "domain", domain).levels())


def game(
    name: str,
    workflow: str | Workflow = "pair",
    *,
    T: int = 8,
    style: Style = "full",
    alpha: float = 1.0,
    malformed: float = -0.5,
    outcome_only: bool = False,
    level: str | None = None,
    tasks: str | Path | None = None,
    **options: JSON,
) -> Game:
    """The Game of a domain and a workflow. Of `options`, fields of a workflow that is named go to it (`n=5`), all
    others to the domain.

    `level` is a preset of the domain; its fields in `options` override it. `tasks` is a file of tasks, such as `masgym
    import` writes: the domain's field `file`. Unknown names raise UnknownName.
    """
    team = _fields_of_workflow(name, workflow, options)
    own = {option: given for option, given in options.items() if option not in team}
    return Game(
        domain=_domain(name, T, level, own if tasks is None else _with_tasks(name, tasks, own), team),
        workflow=make_workflow(workflow, **{o: options[o] for o in team if o in options})
        if isinstance(workflow, str)
        else workflow,
        T=T,
        style=style,
        alpha=alpha,
        malformed=malformed,
        outcome_only=outcome_only,
    )


def make(
    name: str,
    workflow: str | Workflow = "pair",
    *,
    render_mode: str | None = None,
    max_cycles: int | None = None,
    **options: Any,
) -> OrderEnforcing:
    """The AEC environment of `game(name, workflow, **options)`. `max_cycles` is PettingZoo's word for T."""
    return aec(_game(name, workflow, max_cycles, options), render_mode)


def raw_env(
    name: str,
    workflow: str | Workflow = "pair",
    *,
    render_mode: str | None = None,
    max_cycles: int | None = None,
    **options: Any,
) -> RawAEC:
    """As `make`, without the wrapper that checks the order of calls."""
    return RawAEC(_game(name, workflow, max_cycles, options), render_mode)


def parallel_env(
    name: str,
    workflow: str | Workflow = "pair",
    *,
    render_mode: str | None = None,
    max_cycles: int | None = None,
    **options: Any,
) -> Parallel:
    """The Parallel environment of `game(name, workflow, **options)`."""
    return Parallel(_game(name, workflow, max_cycles, options), render_mode)


def single_env(
    name: str, workflow: str | Workflow = "solo", *, render_mode: str | None = None, **options: Any
) -> Single:
    """The Gymnasium environment of `game(name, workflow, **options)`; its workflow has one agent."""
    return Single(game(name, workflow, **options), render_mode)


def _game(name: str, workflow: str | Workflow, max_cycles: int | None, options: dict[str, Any]) -> Game:
    if max_cycles is None:
        return game(name, workflow, **options)
    if options.get("T", max_cycles) != max_cycles:
        raise BadValue(f"T is {options['T']} and max_cycles {max_cycles}; they mean the same, so give one of them.")
    wanted: dict[str, Any] = {**options, "T": max_cycles}
    return game(name, workflow, **wanted)


def _fields_of_workflow(name: str, workflow: str | Workflow, options: Mapping[str, JSON]) -> tuple[str, ...]:
    """Of a workflow that is named. Raises BadValue for an option that the domain has, too."""
    if not isinstance(workflow, str):
        return ()
    found = tuple(f.name for f in fields(_find(_WORKFLOWS, "workflow", workflow).load()))
    domain = _find(_DOMAINS, "domain", name).load()
    for option in options:
        if option in found and is_dataclass(domain) and option in {f.name for f in fields(domain)}:
            raise BadValue(f"{option} is a field of {name} and of {workflow}; pass workflow as an instance instead.")
    return found


def _domain(name: str, turns: int, level: str | None, given: dict[str, JSON], others: Sequence[str]) -> Domain:
    """`others` are options that exist, but are not the domain's: for the error that lists them."""
    spec = _find(_DOMAINS, "domain", name)
    if not is_dataclass(spec.load()):
        raise BadValue(f"{spec.module}:{spec.attribute} is no dataclass; a domain is one (see masgym.game.Domain).")
    known = [f.name for f in fields(spec.load()) if f.name not in spec.fixed]
    for option in given:
        if option not in known:
            exists = {*known, *others, *_OPTIONS} - {option}  # some of them are of other makers
            raise UnknownName(f"option of {name}", option, exists)
    preset = {**spec.fixed, **({"turns": turns} if "turns" in known else {})}
    if level is not None:
        if not isinstance(level, str) or level not in spec.levels():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnknownName(f"level of {name}", level, spec.levels())
        preset |= spec.levels()[level]
    return _made(spec, {**preset, **given})


def _with_tasks(name: str, tasks: str | Path, given: dict[str, JSON]) -> dict[str, JSON]:
    if "file" in given:
        raise BadValue(f"tasks is {str(tasks)!r} and file {given['file']!r}; they mean the same, so give one of them.")
    if "file" not in {f.name for f in fields(_find(_DOMAINS, "domain", name).load())}:
        raise BadValue(f"{name} draws its tasks and reads none from a file; tasks was {str(tasks)!r}.")
    return {**given, "file": str(tasks)}


def make_workflow(name: str, **arguments: JSON) -> Workflow:
    """The workflow of that name. Raises UnknownName for a name or an argument that does not exist."""
    spec = _find(_WORKFLOWS, "workflow", name)
    known = [f.name for f in fields(spec.load())]
    for argument in arguments:
        if argument not in known:
            raise UnknownName(f"argument of workflow {name}", argument, known)
    return _made(spec, arguments)


def _made(spec: Spec, arguments: Mapping[str, JSON]) -> Any:
    """The instance. What the class does not check by itself comes out as BadValue too, which names the class."""
    try:
        return spec.load()(**arguments)
    except MasgymError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadValue(
            f"{spec.name} cannot be made with {dict(arguments)!r}: {type(error).__name__}: {error}."
        ) from error


def _find(specs: Mapping[str, Spec], kind: str, name: str) -> Spec:
    known = specs
    if specs is _DOMAINS and isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        if member := _member(name):
            return member
        if "/" in name:  # PettingZoo's id of one
            known = {**specs, **{pettingzoo_id(own): spec for own, spec in specs.items()}}
    if not isinstance(name, str) or name not in known:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnknownName(kind, name, known)
    return known[name]


def _member(name: str) -> Spec | None:
    """The domain that `family/member` stands for. Raises BadValue for what names a foreign environment."""
    family, slash, member = name.partition("/")
    if slash and family in _FAMILIES:
        entry, own = _FAMILIES[family]
        return Spec(name=name, entry=entry, fixed={own: member})
    if ":" in name:
        raise BadValue(
            f"{name!r} is no domain. If it is a foreign environment, masgym.foreign.resolve plays it with agents. "
            "Training needs a Game, whose saved points branch: write it as a domain (masgym.Domain)."
        )
    return None


def _register(specs: dict[str, Spec], kind: str, name: str, entry: Entry) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadValue(f"{name!r} is no name for a {kind}: lower-case words joined by '_' are.")
    spec, old = Spec(name=name, entry=entry), specs.get(name)
    if old and (old.module, old.attribute) != (spec.module, spec.attribute):
        raise BadValue(f"the {kind} {name!r} is already {old.module}:{old.attribute}; choose another name.")
    specs[name] = spec


def _register_installed() -> None:
    """What other packages offer: their entry points of the groups `masgym.domains` and `masgym.workflows`.

    One that no registry can hold is left out with a warning: a package that is installed must not break masgym.
    """
    for group, register in (("masgym.domains", register_domain), ("masgym.workflows", register_workflow)):
        for found in entry_points(group=group):
            try:
                register(found.name, found.value)
            except BadValue as error:
                warnings.warn(f"the entry point {found.name!r} of {group} was left out: {error}", stacklevel=2)


_OPTIONS = (
    "workflow",
    "T",
    "style",
    "alpha",
    "malformed",
    "outcome_only",
    "level",
    "tasks",
    "render_mode",
    "max_cycles",
)

for _name, _entry in {
    "sokoban": "masgym.domains.sokoban:Sokoban",
    "plan_path": "masgym.domains.plan_path:PlanPath",
    "sudoku": "masgym.domains.sudoku:Sudoku",
    "code": "masgym.domains.code:Code",
    "math": "masgym.domains.math:Math",
    "search": "masgym.domains.search:Search",
}.items():
    register_domain(_name, _entry)
for _name, _entry in {
    "solo": "masgym.workflows.solo:Solo",
    "pair": "masgym.workflows.pair:Pair",
    "verify": "masgym.workflows.verify:Verify",
    "ensemble": "masgym.workflows.ensemble:Ensemble",
    "routed": "masgym.workflows.routed:Routed",
}.items():
    register_workflow(_name, _entry)
_register_installed()
