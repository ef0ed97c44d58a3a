"""The tool `math_verify`: {"expected", "answer"} -> are they mathematically equal? Judged in killable processes."""

from pathlib import Path

from masgym.errors import BadValue
from masgym.tools.workers import Workers
from masgym.types import JSON, ToolResult

_WORKER = Path(__file__).with_name("math_verify_worker.py")


class MathVerify(Workers):
    """Outcomes: "ok" with true or false, "timeout", "error" (math-verify failed); see Workers."""

    def __init__(self, workers: int = 2, cpu: float = 4.0, wall: float = 120.0, memory: int = 2 << 30) -> None:
        super().__init__(_WORKER, "Is math-verify installed?", workers=workers, cpu=cpu, wall=wall, memory=memory)

    def __call__(self, arguments: JSON) -> ToolResult:
        """Raises BadValue where the arguments are no two texts."""
        texts = arguments.get("expected"), arguments.get("answer")
        if not all(isinstance(text, str) for text in texts):
            raise BadValue(f"math_verify was given {arguments!r}; two texts, expected and answer, were wanted.")
        return self.ask({"expected": texts[0], "answer": texts[1]})


math_verify = MathVerify()  # starts nothing until it is called
