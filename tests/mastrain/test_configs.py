"""Every config composes and instantiates; what is wrong is told before time is spent."""

import itertools
import subprocess
import sys

import pytest

from masgym.errors import BadValue, MasgymError, UnknownName
from mastrain import algorithms
from mastrain.__main__ import check_form, check_resume, compose_run, jobs
from mastrain.config import parse
from mastrain.games import check_names, check_runs, make_game
from mastrain.paths import configs_dir
from mastrain.policies import policy_map, roles_of


def instantiate(overrides):
    config = parse(compose_run(overrides))
    check_names(config)
    algorithms.make(config.algo)


def options(group):
    return sorted(path.stem for path in (configs_dir() / group).glob("*.yaml"))


GROUPS = sorted(path.name for path in configs_dir().iterdir() if path.is_dir() and path.name != "suite")
EXTRA = {"pretrained": ["model.path=somewhere"], "map": ["policies.map={tool: a, actor: a}"]}


@pytest.mark.parametrize("choice", [f"{group}={option}" for group in GROUPS for option in options(group)])
def test_every_option_composes_and_instantiates(choice):
    instantiate([choice, *EXTRA.get(choice.partition("=")[2], [])])


@pytest.mark.parametrize(("env", "workflow"), list(itertools.product(options("env"), options("workflow"))))
def test_every_env_with_every_workflow(env, workflow):
    config = parse(compose_run([f"env={env}", f"workflow={workflow}"]))
    game = make_game(config)
    assert game.domain.name == env
    assert game.workflow.name == config.workflow.name
    assert game.style == "compact"


def test_presets_are_short():
    for path in configs_dir().glob("*/*.yaml"):
        assert len(path.read_text().splitlines()) < 30, path


def test_a_word_that_is_no_override_is_told():
    with pytest.raises(BadValue, match="'sokoban' is no setting; KEY=VALUE was expected"):
        check_form(["env=plan_path", "sokoban"])
    check_form(["env=plan_path", "~budget", "+env.params.walls=1"])


@pytest.mark.parametrize(
    ("override", "error", "says"),
    [
        ("env=sokobn", UnknownName, "Did you mean 'sokoban'"),
        ("workflow=trio", UnknownName, "Known: "),
        ("train.step=3", UnknownName, "Did you mean 'train.steps'"),
        ("trin.steps=3", UnknownName, "Did you mean 'train.steps'"),
        ("+train.stepz=3", UnknownName, "Did you mean 'steps'"),
        ("+env.params.walz=0.3", UnknownName, "Did you mean 'walls'"),
        ("algo=null", MasgymError, "null"),
        ("suite=quick", MasgymError, "suite"),
        ("level=easy", UnknownName, "Did you mean 'env.level'"),
        ("algo.branches=1", BadValue, "from 2 to 1024"),
        ("algo.branches=1000000000", BadValue, "from 2 to 1024"),
        ("train.tasks=1000000", BadValue, "8,000,000 episodes or branches at once"),
        ("model.hidden=65536", BadValue, "to 4096"),
        ("model.layers=1000", BadValue, "to 64"),
        ("model.warmstart.batch=1000000", BadValue, "to 65536"),
        ("env.compact_pairs=abc", BadValue, "the symbols of a board"),
        ("env.compact_pairs='..#'", BadValue, "each once"),
        ("env.compact_pairs='. #'", BadValue, "without spaces"),
        ("env.compact_pairs='0123456789ABCDEFG'", BadValue, "at most 16"),
        ("tuned=nope", UnknownName, "sokoban_at_grpo_explore"),
        ("tuned=sokoban_at_grpo_explor", UnknownName, "Did you mean 'sokoban_at_grpo_explore'"),
        ("algo.clip=wide", BadValue, "a number was expected"),
        ("algo.credit=later", UnknownName, "immediate"),
        ("algo.name=ppo", UnknownName, "at_grpo"),
        ("sandbox=unsave", UnknownName, "Did you mean 'unsafe'"),
        ("workflow.params={a:1}", BadValue, "holds nothing yet; what it does not hold is added"),
        ("env.params={size:8,walls:3}", BadValue, "holds size, boxes, moves_per_turn; what"),
        ("policies=map", BadValue, "no policy for"),
        ("env.T=0", BadValue, "0"),
        ("train.tasks=0", BadValue, "from 1 to"),
        ("train.steps=0", BadValue, "from 1 to"),
        ("train.validate_tasks=0", BadValue, "from 1 to"),
        ("algo.temperature=nan", BadValue, "from 0.01"),
        ("algo.lr=inf", BadValue, "from"),
        ("model.heads=0", BadValue, "at least 1 layer"),
        ("algo.max_grad_norm=-1", BadValue, "from"),
        ("algo.kl=-1", BadValue, "from 0"),
        ("algo.clip=1.5", BadValue, "from"),
        ("env.malformed=0.5", BadValue, "to 0"),
        ("env.alpha=-1", BadValue, "from 0"),
        ("model.heads=3", BadValue, "a multiple of"),
        ("model.layers=0", BadValue, "at least 1 layer"),
        ("model.max_new_tokens=4096", BadValue, "context"),
        ("model.path=somewhere", BadValue, "model=pretrained only"),
        ("policies.map={tool: a, actor: b}", BadValue, "policies=map only"),
        ("run_dir=''", BadValue, "empty"),
        ("torch_threads=100000", BadValue, "to 1024"),
        ("model=pretrained", BadValue, "model.path is missing"),
        ("algo.entropy=0", BadValue, "entropy target 0.5 with coefficient 0"),
        (f"algo.alpha={10**400}", BadValue, "alpha has 401 digits"),
        (f"algo.lr=-{10**400}", BadValue, "algo.lr has 401 digits"),
        ("seed=[1", MasgymError, ""),
    ],
)
def test_a_wrong_override_is_told_with_its_mend(override, error, says):
    with pytest.raises(error) as caught:
        instantiate([override])
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_tuned_may_be_named_or_none_and_is_else_chosen_by_env_and_algorithm():
    def turns(*overrides):
        return compose_run(overrides)["algo"]["turns"]

    assert turns("env=sokoban") == turns("env=math", "tuned=sokoban_at_grpo_explore") == 4
    assert turns("env=math") == turns("env=sokoban", "tuned=none") == turns("env=sokoban", "algo=team_grpo") == 0


def test_a_mistake_beside_tuned_none_is_told_as_what_it_is():
    with pytest.raises(UnknownName, match=r"config key 'algo\.nope'"):
        compose_run(["tuned=none", "algo.nope=1"])


def test_a_key_of_a_chosen_option_is_no_mistake():
    with pytest.raises(UnknownName, match=r"algo\.turnz"):
        instantiate(["workflow=ensemble", "workflow.params.n=5", "algo.turnz=3"])


@pytest.mark.parametrize("name", ["../evil", "a/b", "''", "actor.updater.pt", "[x]"])
def test_policy_names_are_names_of_folders(name):
    with pytest.raises(BadValue, match=r"policies\.map"):
        check_names(parse(compose_run(["policies=map", f"policies.map={{tool: a, actor: {name}}}"])))


def test_a_task_file_without_test_tasks_is_told_at_once(tmp_path):
    level = "; 0\n#####\n#@$.#\n#####\n"
    (tmp_path / "one.txt").write_text(level)
    with pytest.raises(BadValue, match="none of split"):
        check_names(parse(compose_run([f"+env.params.file={tmp_path / 'one.txt'}"])))


def test_resume_takes_nothing_else():
    with pytest.raises(BadValue, match="takes nothing else"):
        check_resume(["resume=runs/x", "train.steps=9"])
    check_resume(["resume=runs/x"])
    check_resume(["env=sokoban", "train.steps=9"])


def test_an_unknown_role_in_a_policy_map():
    with pytest.raises(UnknownName, match="planner"):
        check_names(parse(compose_run(["policies=map", "policies.map={planner: a, tool: a, actor: a}"])))


@pytest.mark.parametrize("option", ["top_k", "top_p", "repetition_penalty"])
def test_fault_6_sampling_penalties_are_refused(option):
    with pytest.raises(BadValue, match="refused"):
        parse(compose_run([f"+algo.{option}=0.5"]))


def test_outcome_only_needs_a_credit_that_reaches_every_slot():
    wrong = ["env.outcome_only=true", "algo.advice_credit=immediate"]
    with pytest.raises(BadValue, match="advice_credit=turn or episode"):
        check_names(parse(compose_run(wrong)))
    check_names(parse(compose_run([*wrong, "workflow=solo"])))
    check_names(parse(compose_run([wrong[0], "algo.advice_credit=turn"])))


def test_policy_maps():
    kinds = {
        "shared": {"tool": "shared", "actor": "shared"},
        "per_role": {"tool": "tool", "actor": "actor"},
    }
    for kind, expected in kinds.items():
        found = policy_map(parse(compose_run([f"policies={kind}"])).policies, ("tool", "actor"))
        assert found == expected
    assert roles_of(kinds["shared"]) == {"shared": ("tool", "actor")}
    assert roles_of(kinds["per_role"]) == {"tool": ("tool",), "actor": ("actor",)}


def test_the_command_line_answers_a_mistake_with_one_line_and_status_2():
    done = subprocess.run([sys.executable, "-m", "mastrain", "env=sokobn"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert "sokoban" in done.stderr


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["algo=srpo_tree,srpo", "algo.credit=turn"], "algo.credit is turn; srpo plays flat episodes"),
        (["algo=srpo_tree", "algo.credit=turn,immediate"], "return, which immediate credit does not give"),
        (["algo=srpo", "algo.loss=group,dapo"], "algo.loss is dapo"),
    ],
)
def test_what_only_the_algorithm_knows_is_told_before_the_first_job(overrides, says):
    configs = [parse(compose_run(one)) for one in jobs(overrides)]
    check_runs(configs[:1])
    with pytest.raises(BadValue) as caught:
        check_runs(configs)
    assert says in str(caught.value)


def test_every_job_of_a_sweep_is_checked_before_the_first_starts(tmp_path):
    assert jobs(["env=sokoban,plan_path", "seed=1,2", "train.steps=3"]) == [
        (env, seed, "train.steps=3") for env in ("env=sokoban", "env=plan_path") for seed in ("seed=1", "seed=2")
    ]
    command = [sys.executable, "-m", "mastrain", "-m", "env=sokoban,foo"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert "'foo'" in done.stderr
    command = [*command[:4], "algo=srpo_tree,srpo", "algo.credit=turn", f"run_dir={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert "srpo plays flat episodes" in done.stderr
    assert not list(tmp_path.iterdir())


def test_help_is_readable():
    done = subprocess.run([sys.executable, "-m", "mastrain", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for word in ("python -m mastrain env=sokoban", "experiment=smoke", "env: ", "algo: ", "branches"):
        assert word in done.stdout


def test_without_its_extra_training_says_what_to_install():
    program = "import sys; sys.modules['hydra'] = None; import mastrain.__main__"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip() == 'mastrain: training needs more than masgym alone: pip install "masgym[train]"'
