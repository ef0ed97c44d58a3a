"""What the runs of a suite came to: tables (Markdown, CSV) and curves over sampled tokens (SVG)."""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from masgym.errors import BadFile
from masgym.estimates import Estimate, mean_of, share_interval
from masgym.files import write_whole
from masgym.folder import check_free
from masgym.paths import regular
from masgym.tables import Block, markdown_table, number
from masgym.types import value
from mastrain.curves import svg
from mastrain.finished import Curve, Result
from mastrain.suite import Suite

TABLE = "table.md"  # of a report's files the one that is written first


@value
class Row:
    """A method on a domain, over the seeds that are done."""

    domain: str
    method: str
    results: tuple[Result, ...]

    @property
    def success(self) -> Estimate:
        """Mean over seeds; Wilson's interval with the effective size of outcomes clustered by seed. Where no seed
        differs from another, nothing tells of clusters: the seeds' own intervals, joined."""
        means = [r.sampled.success.mean for r in self.results]
        if len(set(means)) == 1:
            return mean_of([r.sampled.success for r in self.results])
        return share_interval(means, sum(r.sampled.episodes for r in self.results))

    def numbers(self) -> dict[str, float]:
        """What is in the tables, by name."""
        greedy = [r.greedy.success.mean for r in self.results if r.greedy]
        return {
            "seeds": len(self.results),
            "success": self.success.mean,
            "low": self.success.low,
            "high": self.success.high,
            "greedy": fmean(greedy) if greedy else float("nan"),
            "turns_to_solve": fmean(r.sampled.turns_to_solve for r in self.results),
            "C_tok": fmean(r.sampled.cost.C_tok / r.sampled.episodes for r in self.results),
            "C_call": fmean(r.sampled.cost.C_call / r.sampled.episodes for r in self.results),
            "C_tool": fmean(r.sampled.cost.C_tool / r.sampled.episodes for r in self.results),
            "U_tok": fmean(r.sampled.cost.U_tok for r in self.results),
            "training_tokens": fmean(r.tokens for r in self.results),
        }


def check_tables(suite: Suite, out: Path) -> None:
    """Raises BadFile where the tables in `out` are not of this suite, BadValue where pictures or a CSV table are there
    without them: they are somebody's own."""
    path = out / TABLE
    if not path.exists():
        check_free(out, _names(suite), TABLE)
        return
    try:
        with regular(path).open(encoding="utf-8", errors="replace") as file:
            first = file.readline(200).rstrip("\n")
    except OSError as error:
        raise BadFile(f"{path} cannot be read ({error.strerror}); choose another out=...") from error
    if first != _title(suite):
        raise BadFile(
            f"{path} is not of suite={suite.name}: it begins with {first[:60]!r} instead of {_title(suite)!r}; choose "
            "another out=..., or move it away."
        )


def _title(suite: Suite) -> str:
    return f"# suite={suite.name}"


def _names(suite: Suite) -> list[str]:
    """Files that are written after the table."""
    return ["table.csv", *(f"{domain}.svg" for domain in suite.domains)]


def write_report(suite: Suite, results: Sequence[Result], wanted: int, out: Path) -> tuple[Path, ...]:
    """`table.md`, `table.csv` and a picture of each domain's curves, of what is done of `wanted` cells. -> paths."""
    rows = [
        Row(domain=domain, method=method, results=tuple(done))
        for domain in suite.domains
        for method in suite.methods
        if (done := [r for r in results if (r.cell.domain, r.cell.method) == (domain, method)])
    ]
    out.mkdir(parents=True, exist_ok=True)
    files = {TABLE: _markdown(suite, rows, len(results), wanted), "table.csv": _csv(rows)}
    for domain in suite.domains:
        curves = {row.method: mean_curve([r.curve for r in row.results]) for row in rows if row.domain == domain}
        files[f"{domain}.svg"] = svg(f"{domain}: success over sampled tokens (at both ends: held-out tasks)", curves)
    for name, text in files.items():
        write_whole(out / name, text)
    return tuple(out / name for name in files)


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean over seeds at the points of the first, each one read between its own points."""
    first = curves[0]
    return [(at, fmean(_read(curve, at) for curve in curves)) for at, _ in first]


def _read(curve: Curve, at: float) -> float:
    """Linear between points, constant beyond the last."""
    for (a, x), (b, y) in pairwise(curve):
        if a <= at <= b:
            return x + (y - x) * (at - a) / (b - a) if b > a else y
    return curve[-1][1]


def _markdown(suite: Suite, rows: Sequence[Row], done: int, wanted: int) -> str:
    header = (
        "",
        "seeds",
        "success % [95 %]",
        "greedy %",
        "turns",
        "C_tok",
        "C_call",
        "C_tool",
        "U_tok",
        "training tokens",
    )
    blocks = [
        Block(title=domain, header=header, rows=tuple(_line(row) for row in rows if row.domain == domain))
        for domain in suite.domains
    ]
    told = f"{_title(suite)}\n\n{done} of {wanted} runs done. C per episode, U_tok: solved per million tokens.\n\n"
    return told + "\n".join(markdown_table(block) for block in blocks if block.rows)


def _line(row: Row) -> tuple[str, ...]:
    found = row.numbers()
    shown = (f"{found['seeds']:.0f}", str(row.success), number(100 * found["greedy"], ".1f"))
    rest = {"turns_to_solve": ".2f", "C_tok": ".1f", "C_call": ".1f", "C_tool": ".1f", "U_tok": ".0f"}
    costs = (number(found[name], form) for name, form in rest.items())
    return (row.method, *shown, *costs, f"{found['training_tokens']:,.0f}")


def _csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for i, row in enumerate(rows):
        found: Mapping[str, float] = row.numbers()
        if not i:
            writer.writerow(["domain", "method", *found])
        writer.writerow([row.domain, row.method, *found.values()])
    return text.getvalue()
