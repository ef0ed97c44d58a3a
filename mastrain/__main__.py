"""`python -m mastrain env=sokoban`: Hydra's command line over `configs/`."""

import difflib
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: threads that wait leave a busy machine alone
try:
    import hydra
except ModuleNotFoundError:  # the environments alone were installed
    sys.exit('mastrain: training needs more than masgym alone: pip install "masgym[train]"')
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from masgym.errors import BadValue, MasgymError, UnknownName
from mastrain.config import parse
from mastrain.games import check_names, check_runs
from mastrain.paths import configs_dir


def compose_run(overrides: Sequence[str]) -> dict[str, Any]:
    """The resolved config as plain values. Raises MasgymError; an unknown key names the nearest known one."""
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(configs_dir()), version_base=None):
        try:
            _check_tuned(overrides)
            return plain(compose("config", list(overrides)))
        except (HydraException, OmegaConfBaseException, ValueError) as error:  # `algo=null` is the last
            raise explain(error, overrides) from error


def _check_tuned(overrides: Sequence[str]) -> None:
    """Raises UnknownName. Hydra passes over an optional option that does not exist: that is for the choice by env and
    algo alone."""
    for name, _, chosen in (override.partition("=") for override in overrides):
        if name == "tuned" and chosen != "none":
            loader = GlobalHydra.instance().config_loader()
            known = loader.get_group_options("tuned", config_name="config", overrides=list(overrides))
            if chosen not in known:
                raise UnknownName("tuned", chosen, ["none", *known])


def plain(config: DictConfig) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(config, resolve=True, throw_on_missing=True))


def explain(error: Exception, overrides: Sequence[str]) -> MasgymError:
    """Hydra's error, with the nearest known key or option where one was not found."""
    groups = {
        path.name: sorted(f.stem for f in path.glob("*.yaml")) for path in configs_dir().iterdir() if path.is_dir()
    }
    chosen_groups = [o for o in overrides if o.partition("=")[0] in groups and "," not in o]
    for name, _, chosen in (override.partition("=") for override in chosen_groups):
        if chosen not in groups[name] and (name, chosen) != ("tuned", "none"):  # which is no file
            return UnknownName(name, chosen, groups[name])
    try:
        base = plain(compose("config", chosen_groups))  # a key is there, or not, with the options that were chosen
    except (HydraException, OmegaConfBaseException, ValueError):  # an option that is none: null, a suite's name
        return MasgymError(" ".join(str(error).split()))
    keys = list(dict.fromkeys([*groups, *_keys(base)]))
    for override in overrides:
        name, _, chosen = override.partition("=")
        if not name.startswith(("+", "~", "hydra")) and name not in keys:
            siblings = [key for key in keys if key.rpartition(".")[2] == name]  # level -> env.level
            siblings = siblings or [key for key in keys if key.rpartition(".")[0] == name.rpartition(".")[0]]
            return UnknownName("config key", name, siblings or difflib.get_close_matches(name, keys, n=5) or groups)
        if name in keys and chosen.startswith("{") and not set(_given(override)) <= set(held := _at(base, name)):
            return BadValue(
                f"{override}: {name} holds {', '.join(held) or 'nothing yet'}; what it does not hold is added key by "
                f"key, with +{name}.KEY=VALUE."
            )
    return MasgymError(" ".join(str(error).split()))


def _given(override: str) -> Mapping[str, Any]:
    """The mapping that an override gives; {} where it gives another value, or is none."""
    try:
        given: Any = OverridesParser.create().parse_override(override).value()
    except HydraException:
        return {}
    return cast(Mapping[str, Any], given) if isinstance(given, Mapping) else {}


def _at(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What the key `name` ("a.b") holds; {} where that is no mapping."""
    found: Any = config
    for part in name.split("."):
        found = found[part]
    return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else {}


def _keys(config: Mapping[str, Any], at: str = "") -> list[str]:
    found: list[str] = []
    for key, inner in config.items():
        found.append(f"{at}{key}")
        if isinstance(inner, Mapping):
            found += _keys(cast(Mapping[str, Any], inner), f"{at}{key}.")
    return found


@hydra.main(version_base=None, config_path=str(configs_dir()), config_name="config")
def job(config: DictConfig) -> None:
    data = plain(config)
    if HydraConfig.get().mode == RunMode.MULTIRUN:
        data["run_dir"] = str(Path(data["run_dir"]) / str(HydraConfig.get().job.num))
    try:
        parsed = parse(data)
        check_names(parsed)
        from mastrain.main import main  # torch and trl: only now that the config is right

        code = main(parsed, data)
    except MasgymError as error:
        sys.exit(_complain(error))
    if code:
        sys.exit(code)


def _complain(error: MasgymError) -> int:
    print(f"mastrain: {error}", file=sys.stderr)
    return 2


def check_resume(overrides: Sequence[str]) -> None:
    """Raises BadValue for anything said beside resume=...: a run goes on with its own config."""
    if len(overrides) > 1 and any(o.startswith("resume=") and o != "resume=null" for o in overrides):
        raise BadValue(f"resume goes on with the run's own config and takes nothing else; got {' '.join(overrides)}.")


def check_form(overrides: Sequence[str]) -> None:
    """Raises BadValue for a word that is no override (`--env sokoban`)."""
    for word in overrides:
        if "=" not in word and not word.startswith("~"):
            raise BadValue(f"{word!r} is no setting; KEY=VALUE was expected, as in env=sokoban or train.steps=50.")


def check_placed(overrides: Sequence[str], out: str | None) -> None:
    """For commands whose `out` says where everything lies. Raises BadValue for an `out` that names nothing, for a word
    that is no override, and for overrides that would put a run elsewhere."""
    if out == "":
        raise BadValue("out= names no folder; give one, or leave it out.")
    check_form(overrides)
    for override in overrides:
        if override.lstrip("+").startswith(("run_dir=", "resume=")):
            raise BadValue(f"{override}: out=FOLDER says where runs go here, and that is where they go on, too.")


def jobs(overrides: Sequence[str]) -> list[tuple[str, ...]]:
    """Overrides with sweeps (`env=sokoban,plan_path`) -> the overrides of every job."""
    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as error:
        raise MasgymError(" ".join(str(error).split())) from error
    choices = [
        [f"{o.get_key_element()}={v}" for v in o.sweep_string_iterator()] if o.is_sweep_override() else [o.input_line]
        for o in parsed
    ]
    return list(itertools.product(*cast(list[list[str]], choices)))


def cli() -> None:
    arguments = sys.argv[1:]
    overrides = [word for word in arguments if not word.startswith("-")]
    if not {"--help", "-h", "--hydra-help"} & set(arguments):
        try:
            check_form(overrides)
            check_resume(overrides)
            if {"-m", "--multirun"} & set(arguments):
                check_runs([parse(compose_run(one)) for one in jobs(overrides)])
            else:
                check_names(parse(compose_run(overrides)))
        except MasgymError as error:
            sys.exit(_complain(error))
        GlobalHydra.instance().clear()
    job()


if __name__ == "__main__":
    os.environ.setdefault("HYDRA_FULL_ERROR", "0")
    try:
        cli()
    except KeyboardInterrupt:  # before the run has begun; afterwards it is the run's to say how it goes on
        print("\nmastrain: stopped.", file=sys.stderr)
        sys.exit(130)
