"""The suites that are shipped: every cell composes, and rows differ by method only."""

from dataclasses import replace

import pytest

from mastrain.__main__ import compose_run
from mastrain.config import parse
from mastrain.games import check_names
from mastrain.paths import configs_dir
from mastrain.suite import cells, read_suite, with_seeds

SUITES = sorted(path.stem for path in (configs_dir() / "suite").glob("*.yaml"))


@pytest.mark.parametrize("name", SUITES)
def test_every_domain_and_every_method_of_every_suite_composes(name):
    suite = with_seeds(read_suite(name), "0")
    (domain, first), *_ = suite.domains.items()
    methods = replace(suite, domains={domain: first})
    domains = replace(suite, methods=dict([next(iter(suite.methods.items()))]))
    for cell in [*cells(methods), *cells(domains)[1:]]:
        config = parse(cell.config)
        check_names(config)
        assert config.budget.sampled_tokens > 0


@pytest.mark.usefixtures("_small")
def test_another_config_is_another_cell():
    suite = with_seeds(read_suite("small"), "0")
    plain, longer = cells(suite), cells(suite, ["train.eval_tasks=7"])
    assert not {cell.hash for cell in plain} & {cell.hash for cell in longer}
    assert [cell.hash for cell in plain] == [cell.hash for cell in cells(suite)]


FREE = {  # what is the method, so that it may differ between rows; the rest of an algo is equal
    *("name", "branches", "greedy_fraction", "credit", "advice_credit", "turns", "normalise"),
    *("set_power", "length_power", "reduction"),
}


@pytest.mark.parametrize("name", ["quick", "games", "reasoning"])
def test_rows_of_a_domain_differ_by_method_only(name):
    suite = with_seeds(read_suite(name), "0")
    for domain in suite.domains:
        seen = {
            cell.method: {
                "algo": {k: v for k, v in cell.config["algo"].items() if k not in FREE},
                **{k: cell.config[k] for k in ("env", "train", "budget", "model")},
            }
            for cell in cells(replace(suite, domains={domain: suite.domains[domain]}))
        }
        assert len(seen) == len(suite.methods)
        for method, found in seen.items():
            assert found == seen["warm"], (domain, method)


@pytest.mark.parametrize("domain", ["plan_path", "sokoban"])
def test_at_grpo_of_the_suites_is_the_tuned_one(domain):
    """But for how deep its trees are, which all methods with trees share."""
    suite = with_seeds(read_suite("games"), "0")
    methods = {"at_grpo per role": suite.methods["at_grpo per role"]}
    (cell,) = cells(replace(suite, domains={domain: suite.domains[domain]}, methods=methods))
    tuned = compose_run([f"env={domain}"])
    assert cell.config["algo"] | {"turns": 0} == tuned["algo"] | {"turns": 0}
    assert cell.config["env"] == tuned["env"]
    assert cell.config["train"]["tasks"] == tuned["train"]["tasks"]
