"""Names, equal games from every maker, errors that list what exists, a light import."""

import math
import subprocess
import sys

import gymnasium
import pettingzoo
import pytest
from toy import Line

import masgym
from masgym import registry
from masgym.workflows.solo import Solo


@pytest.fixture(autouse=True, scope="module")
def line() -> None:
    masgym.register_domain("line", "toy:Line")


def test_the_public_names_are_those_of_all() -> None:
    import types

    public = {n for n, v in vars(masgym).items() if not n.startswith("_") and not isinstance(v, types.ModuleType)}
    assert public == set(masgym.__all__)
    assert list(masgym.__all__) == sorted(masgym.__all__)


def test_a_class_can_be_registered_and_a_taken_name_cannot() -> None:
    masgym.register_domain("line_as_class", Line)
    masgym.register_domain("line_as_class", Line)
    assert masgym.game("line_as_class").domain == Line()
    with pytest.raises(masgym.BadValue, match="already toy:Line"):
        masgym.register_domain("line", "elsewhere:Line")
    with pytest.raises(masgym.BadValue, match="no name"):
        masgym.register_domain("Line World", Line)


def test_an_entry_that_leads_nowhere_says_so() -> None:
    masgym.register_domain("no_module", "nomod:Y")
    for use in (masgym.make, masgym.list_levels):
        with pytest.raises(masgym.BadValue, match="'nomod:Y' of no_module cannot be imported"):
            use("no_module")
    masgym.register_domain("nowhere", "toy:Nothing")
    with pytest.raises(masgym.BadValue, match="the module has no 'Nothing'"):
        masgym.game("nowhere")
    masgym.register_domain("plain", "toy:re")
    with pytest.raises(masgym.BadValue, match="toy:re is no dataclass"):
        masgym.game("plain")


def test_names_and_levels_are_listed() -> None:
    assert {"sokoban", "plan_path", "line"} <= set(masgym.list_domains())
    assert {"solo", "pair"} <= set(masgym.list_workflows())
    assert masgym.list_levels("line") == ("short", "long")


def test_fields_levels_and_T_reach_the_game() -> None:
    game = masgym.game("line", "solo", T=5, level="long", length=12, alpha=2.0, style="compact", outcome_only=True)
    assert game.domain == Line(length=12, moves_per_turn=6, turns=5)
    assert (game.T, game.alpha, game.style, game.outcome_only) == (5, 2.0, "compact", True)
    assert masgym.game("line", Solo()) == masgym.game("line", "solo")


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        (("sokobann",), "Did you mean 'sokoban'"),
        (("line", "pairs"), "Did you mean 'pair'"),
        (("line", "pair", {"lenght": 3}), "Did you mean 'length'"),
        (("line", "pair", {"level": "tiny"}), "Known: long, short"),
        (("line", "pair", {"style": "fulll"}), "Did you mean 'full'"),
    ],
)
def test_an_unknown_name_lists_what_exists(arguments: tuple, listed: str) -> None:
    *names, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(masgym.UnknownName, match=listed):
        masgym.make(*names, **options)


WRONG = [
    ([], {}, masgym.UnknownName, "unknown domain"),
    (5, {}, masgym.UnknownName, "unknown domain"),
    ("line", {"workflow": 5}, masgym.BadValue, "workflow is 5"),
    ("line", {"workflow": Solo}, masgym.BadValue, "workflow is <class"),
    ("line", {"workflow": None}, masgym.BadValue, "workflow is None"),
    ("line", {"level": ["x"]}, masgym.UnknownName, "unknown level"),
    *(("line", {"T": value}, masgym.BadValue, "T is") for value in ("8", 1.5, True, None, math.nan, 0)),
    *(
        ("line", {name: value}, masgym.BadValue, f"{name} is")
        for name in ("alpha", "malformed")
        for value in ("1", None, math.nan, math.inf, -math.inf, True, 1e300, -1e7, 10**400, -(10**5000), [1])
    ),
    ("line", {"alpha": -0.5}, masgym.BadValue, "alpha is -0.5; a number from 0 to"),
    ("line", {"malformed": 0.5}, masgym.BadValue, r"malformed is 0.5; a number from -1e\+06 to 0"),
    ("line", {"T": 10**7}, masgym.BadValue, "T is"),
    *(("line", {"workflow": "routed", "route_cost": value}, masgym.BadValue, "route_cost is") for value in (-1, 1e300)),
    ("masgym/line_v99", {}, masgym.UnknownName, ".* Did you mean 'masgym/line_v0'"),
    ("line_v0", {}, masgym.UnknownName, ".* Did you mean 'line"),
    *(("line", {"outcome_only": value}, masgym.BadValue, "outcome_only is") for value in ("yes", 1, None)),
    *(("sokoban", {"walls": value}, masgym.BadValue, "walls is") for value in ("x", None, math.nan, True)),
    *(("plan_path", {"size": value}, masgym.BadValue, "size is") for value in (10**6, 1.5, "8")),
    *(("plan_path", {"wall_ratio": value}, masgym.BadValue, "wall_ratio is") for value in ("x", False, math.nan)),
    *(("math", {"seed": value}, masgym.BadValue, "seed is") for value in ("x", 1.5, None)),
    *(("math", {"families": value}, masgym.BadValue, "families is") for value in (5, {"gcd": 1}, None)),
    ("math", {"families": [["x"]]}, masgym.UnknownName, "unknown family"),
    ("code", {"file": "tasks.jsonl", "difficulty": ["x"]}, masgym.BadValue, "code cannot be made with"),
]


@pytest.mark.parametrize(("name", "options", "error", "says"), WRONG)
def test_arguments_of_another_kind_are_refused_by_name(name, options, error, says) -> None:
    with pytest.raises(error, match=f"^{says}"):
        masgym.make(name, **options)


def test_names_that_are_none_are_refused() -> None:
    for name in ([], 5, None):
        with pytest.raises(masgym.UnknownName):
            masgym.list_levels(name)
        with pytest.raises(masgym.BadValue, match="is no name"):
            masgym.register_domain(name, "toy:Line")


def test_every_maker_gives_an_equal_game() -> None:
    options = {"workflow": "solo", "length": 7, "T": 3, "alpha": 0.5}
    expected = masgym.game("line", **options)
    made = [
        masgym.make("line", **options),
        registry.raw_env("line", **options),
        masgym.parallel_env("line", **options),
        masgym.make("masgym/line_v0", **options),
        pettingzoo.make("aec", "masgym/line_v0", **options),
        pettingzoo.make("parallel", "masgym/line_v0", **options),
        gymnasium.make("masgym/Line-v0", length=7, T=3, alpha=0.5),
    ]
    assert all(env.unwrapped.game == expected for env in made)


@pytest.mark.parametrize("name", ["sokoban", "plan_path"])
def test_the_module_of_a_domain_gives_an_equal_game(name: str) -> None:
    module = __import__(f"masgym.{name}_v0", fromlist=["env"])
    expected = masgym.game(name, seed=3, T=6)
    made = [
        module.env(seed=3, T=6),
        module.raw_env(seed=3, T=6),
        module.parallel_env(seed=3, T=6),
        masgym.make(name, seed=3, T=6),
        pettingzoo.make("aec", f"masgym/{name}_v0", seed=3, T=6),
        pettingzoo.make("parallel", f"masgym/{name}_v0", seed=3, max_cycles=6),
    ]
    assert all(env.unwrapped.game == expected for env in made)
    assert gymnasium.make({"sokoban": "masgym/Sokoban-v0", "plan_path": "masgym/PlanPath-v0"}[name]).spec is not None


def test_max_cycles_is_T_and_cannot_contradict_it() -> None:
    assert masgym.make("line", max_cycles=3).unwrapped.game.T == 3
    assert masgym.make("line", max_cycles=3, T=3).unwrapped.game.T == 3
    with pytest.raises(masgym.BadValue, match="give one of them"):
        masgym.make("line", max_cycles=3, T=4)


def test_gymnasium_refuses_a_team() -> None:
    with pytest.raises(masgym.BadValue, match="tool_0, actor_0"):
        gymnasium.make("masgym/Line-v0", workflow="pair")


def test_the_import_is_light_and_loads_no_domain() -> None:
    heavy = ["torch", "transformers", "trl", "vllm", "ray", "hydra", "pygame", "masgym.domains"]
    code = f"import masgym, sys; print([m for m in {heavy} if m in sys.modules], masgym.list_domains())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("[]")
    assert "sokoban" in shown
