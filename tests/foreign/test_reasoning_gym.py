"""reasoning-gym's data sets as domains: their own answers and scorers, in a process that no reply takes over."""

import asyncio
from dataclasses import replace

import pytest

import masgym
from masgym import testing
from masgym.agents.oracle import OracleAgent
from masgym.errors import BadValue, UnknownName
from masgym.evaluate import evaluate
from masgym.foreign import reasoning_gym_source as source
from masgym.snapshot import Snapshot, answer, start
from masgym.tasks import SPLITS, split_of
from masgym.testing.play import first_tasks, step
from masgym.tools.driver import default_driver

pytest.importorskip("reasoning_gym")
A_DOZEN = (
    *("acre", "graph_color", "gsm_symbolic", "leg_counting", "maze", "n_queens", "polynomial_multiplication"),
    *("prime_factorization", "spell_backward", "string_insertion", "sudoku", "word_sorting"),
)
REPLIES = ("0", "<answer>[[1, 2]]</answer>")


def game(member: str, workflow: str = "solo", **options):
    return masgym.game(f"reasoning_gym/{member}", workflow, **options)


def scored(dataset: str, reply: str, index: int = 0) -> float:
    played = game(dataset)
    state = played.initial(played.domain.tasks.get("test", index))
    return step(played, state, {"actor_0": reply}).state.world.score


@pytest.mark.parametrize("dataset", A_DOZEN)
def test_a_data_set_keeps_the_contract(dataset: str) -> None:
    testing.check_game(game(dataset, T=2), tasks=1, beam=2, replies=REPLIES, new_process=False)


@pytest.mark.parametrize("workflow", [w for w in masgym.list_workflows() if w != "solo"])
def test_every_workflow_plays_it(workflow: str) -> None:
    played = game("leg_counting", workflow, T=2)
    programs = ("```python\nprint(1)\n```", "```python\n1/0\n```") if workflow == "pair" else ()
    testing.check_weights(played)
    testing.check_oracle(played, tasks=3)
    if programs:
        testing.check_terms(played, replies=(*REPLIES, *programs))
    task = first_tasks(played, 1)[0]
    for check in (testing.check_determinism, testing.check_purity, testing.check_snapshots, testing.check_json):
        check(played, task)


def test_another_process_goes_on_with_it() -> None:
    played = game("spell_backward", "pair")
    testing.check_new_process(played, first_tasks(played, 1)[0])


@pytest.mark.slow
def test_all_data_sets_keep_the_contract() -> None:
    """Every name, or a reason why not; those refused are refused for what they are."""
    failed: dict[str, str] = {}
    for dataset in source.names():
        for workflow in ("solo", "verify"):
            try:
                played = game(dataset, workflow, T=2)
                testing.check_game(played, tasks=1, beam=2, replies=REPLIES, new_process=False)
            except (AssertionError, masgym.MasgymError) as error:
                failed[f"{dataset}:{workflow}"] = str(error)[:300]
    assert not failed
    assert len(source.names()) > 100
    for dataset in ("boxnet", "rush_hour"):
        assert source.item(dataset, "{}", 0) is None


def test_the_dozen_is_solved_and_nonsense_is_not() -> None:
    for dataset in A_DOZEN[:4]:
        records = asyncio.run(evaluate(game(dataset, "verify"), {"*": OracleAgent()}, tasks=4))
        assert all(r.success and r.turns == 1 for r in records)
        assert scored(dataset, "no idea") < 1


def test_scorers_that_raise_give_nothing() -> None:
    """prime_factorization's own scorer raises ValueError on words."""
    assert scored("prime_factorization", "two times three") == 0.0


def test_partial_scores_are_paid_as_they_are() -> None:
    played = game("spell_backward")
    state = played.initial(played.domain.tasks.get("test", 0))
    right = played.oracle(state, "actor_0")
    done = step(played, state, {"actor_0": f"{right}{right}"})
    assert 0 < done.state.world.score < 1
    assert done.team == done.gain == done.state.world.score
    assert done.rewards["actor_0"].local["score"] == pytest.approx(0.8 * done.state.world.score)
    assert not done.state.success


def tries_to_write(path) -> tuple[str, ...]:
    """Replies that write a file where a scorer evaluates them, as those of reasoning-gym 0.1.25 alone do."""
    program = f"open({str(path)!r}, 'w').close()"
    spelt = "+".join(f"chr({ord(letter)})" for letter in program)
    return (program, f"[{program}]", f"exec({spelt})", f"Integer(1).__class__, exec({program!r})")


@pytest.mark.parametrize("dataset", ["string_insertion", "n_queens", "polynomial_multiplication", "puzzle24"])
def test_no_reply_is_run(dataset: str, tmp_path) -> None:
    """Scorers of these evaluate what they are given: by `eval`, or by sympy's parser, which evaluates too."""
    for reply in tries_to_write(tmp_path / "was_here"):
        assert scored(dataset, reply) < 1
        assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_no_reply_is_run_by_any(tmp_path) -> None:
    for dataset in source.names():
        for reply in tries_to_write(tmp_path / "was_here"):
            scored(dataset, reply)
            assert not list(tmp_path.iterdir()), dataset


def test_what_the_guards_let_through_is_still_scored() -> None:
    played = game("polynomial_multiplication")
    state = played.initial(played.domain.tasks.get("test", 0))
    right = played.oracle(state, "actor_0")
    assert step(played, state, {"actor_0": f"({right})*1 + 0"}).state.success  # sympy reads it, and it is equal
    letters = game("string_insertion")
    spelt = letters.oracle(letters.initial(letters.domain.tasks.get("test", 0)), "actor_0")
    assert scored("string_insertion", repr(list(spelt))) == 0.1  # what its scorer gives for a list of the letters


@pytest.mark.slow
def test_a_scorer_that_hangs_is_stopped_and_the_next_is_scored() -> None:
    assert scored("countdown", "9**9**9**9**9") == 0.0
    assert scored("countdown", "1") > 0


def test_splits_are_disjoint_and_seeds_differ() -> None:
    source_of = game("leg_counting").domain.tasks
    hashes = {split: {source_of.get(split, i).content_hash for i in range(30)} for split in SPLITS}
    assert all(split_of(digest) == split for split, found in hashes.items() for digest in found)
    assert sum(map(len, hashes.values())) == len(set().union(*hashes.values())) == 90
    assert game("leg_counting", seed=1).domain.tasks.get("test", 0) != source_of.get("test", 0)
    assert game("leg_counting").domain.tasks.get("test", 0) == source_of.get("test", 0)


def test_configs_reach_the_generator() -> None:
    played = game("chain_sum", config={"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1})
    texts = [played.domain.tasks.get("test", i).content["question"] for i in range(5)]
    assert all(len([c for c in text if c in "+-"]) <= 3 for text in texts)
    assert played.domain.tasks.get("test", 0).level == "configured"
    now = start(played, played.domain.tasks.get("test", 0))
    assert Snapshot.from_json(now.to_json(), played) == now
    assert played.fingerprint != game("chain_sum").fingerprint


def test_a_task_of_another_version_is_refused() -> None:
    played = game("leg_counting")
    task = played.domain.tasks.get("test", 0)
    with pytest.raises(BadValue, match=r"made by reasoning-gym 0\..*another question"):
        played.initial(replace(task, content={"question": "How many?"}))


def test_what_is_printed_is_the_answer() -> None:
    played = game("word_sorting", "pair")
    now = start(played, played.domain.tasks.get("test", 0))
    right = played.oracle(now.state, "actor_0")
    now = answer(now, f"```python\nprint({right!r})\n```", step)
    assert now.transition.effects["tool_0"].right
    assert f"| {right}"[:60] in played.observe(now.state, "actor_0").text
    assert answer(now, right, step).state.success


@pytest.mark.parametrize(
    ("name", "options", "kind", "says_so"),
    [
        ("boxnet", {}, BadValue, "its items hold no answer"),
        ("rush_hour", {}, BadValue, "its items hold no answer"),
        ("composite", {}, BadValue, "a mixture of data sets"),
        ("leg_countin", {}, UnknownName, "Did you mean 'leg_counting'"),
        ("", {}, UnknownName, "leg_counting"),
        ("leg_counting", {"config": {"animals": 3}}, BadValue, "cannot be made with.*unexpected keyword argument"),
        ("leg_counting", {"config": {"min_animals": -3}}, BadValue, "min_animals must be positive"),
        ("leg_counting", {"config": {"seed": 3}}, BadValue, "config holds seed"),
        ("leg_counting", {"seed": -1}, BadValue, "seed is -1"),
        ("leg_counting", {"dataset": "maze"}, UnknownName, "option of reasoning_gym/leg_counting 'dataset'"),
    ],
)
def test_what_cannot_be_played_is_refused(name: str, options: dict, kind: type, says_so: str) -> None:
    with pytest.raises(kind, match=says_so):
        game(name, **options)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "find_spec", lambda name: None)
    source.names.cache_clear()
    source.check.cache_clear()
    with pytest.raises(BadValue, match=r'pip install "masgym\[reasoning-gym\]"'):
        game("leg_counting")
    monkeypatch.undo()
    assert "leg_counting" in source.names()


def test_its_tool_is_the_drivers() -> None:
    assert default_driver().tools["reasoning_gym"] is source.score
    with pytest.raises(BadValue, match="there is a tool 'python' already"):
        masgym.register_tool("python", source.score)
