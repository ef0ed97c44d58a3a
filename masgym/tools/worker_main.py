"""The process of a pool (`workers.py`): it answers questions with the script that it is given, which may crash or hang.

Run by its path with (script, CPU seconds a question, bytes of memory); it imports nothing of masgym. The script has
`prepare()`, called once, and `answered(question)` -> a JSON value; what it raises is the outcome "error". A profiling
timer, whose default action is to end the process, bounds the CPU time of each question.
"""

import importlib.util
import json
import logging
import os
import resource
import signal
import sys
from typing import Any


def main(path: str, cpu: float, memory: int) -> None:
    """Answers until its input ends, which it does when the parent is gone."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a stray print must not look like an answer
    script = _loaded(path)
    logging.disable()
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    script.prepare()
    print(json.dumps({"outcome": "ready"}), file=out, flush=True)
    os.dup2(1, 2)  # nobody reads warnings
    for line in sys.stdin:
        print(json.dumps(_reply(script, line, cpu)), file=out, flush=True)


def _loaded(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("script", path)
    if not spec or not spec.loader:
        raise ImportError(f"{path} is no Python file")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def _reply(script: Any, line: str, cpu: float) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_PROF, cpu)
    try:
        return {"outcome": "ok", "value": script.answered(json.loads(line))}
    except Exception:  # libraries raise nearly everything on nonsense, MemoryError and RecursionError included
        return {"outcome": "error", "value": None}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
