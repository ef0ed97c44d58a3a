"""What a run came to, for people: on the screen, as Markdown, as CSV. One set of tables, three ways to write it."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from masgym.estimates import Estimate
from masgym.report import Report
from masgym.runs import RunReport
from masgym.tags import printable
from masgym.types import value


@value
class Block:
    """One table: a title, a header and rows of text."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def screen(out: RunReport) -> Group:
    """The report of one run, for rich."""
    return Group(*(rich_table(block) for block in blocks(out)))


def markdown(out: RunReport) -> str:
    return "\n".join(markdown_table(block) for block in blocks(out))


def csv_text(runs: Mapping[str, RunReport]) -> str:
    """A row for each run and for each difficulty in it. The last two columns depend on the clock."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for label, out in runs.items():
        writer.writerow([label, "all", *_numbers(out.report.success), *_sizes(out.report), *_rest(out)])
        for level, found in out.report.by_level.items():
            row = [label, level, *_numbers(found.success), found.tasks, found.episodes]
            writer.writerow(row + [""] * (len(_COLUMNS) - len(row)))
    return text.getvalue()


def blocks(out: RunReport) -> tuple[Block, ...]:
    """The tables of one run; those that would be empty are left out."""
    report = out.report
    found = (
        _summary(out),
        Block(title="By difficulty", header=("", "success % [95 %]", "tasks", "episodes"), rows=_levels(report)),
        Block(
            title="Reward terms (mean per reply)",
            header=("", "mean"),
            rows=tuple((name, f"{mean:.3f}") for name, mean in report.terms.items()),
        ),
        _counts("Malformed replies", report.malformed_reasons),
        _counts("Episodes cut short", report.failures),
        _cost(out),
        _rerun(out),
    )
    return tuple(block for block in found if block.rows)


def rich_table(block: Block) -> Table:
    table = Table(title=Text(printable(block.title)), title_justify="left")
    for number, name in enumerate(block.header):
        table.add_column(name, justify="right" if name and number else "left", overflow="fold")
    for row in block.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def markdown_table(block: Block) -> str:
    lines = [block.header, tuple("---:" if name and i else "---" for i, name in enumerate(block.header)), *block.rows]
    return f"## {_cell(block.title)}\n\n" + "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def number(given: float, form: str = ".2f") -> str:
    """A dash for NaN: there was nothing to average."""
    return "-" if math.isnan(given) else format(given, form)


def _cell(text: str) -> str:
    return " ".join(printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())


_COLUMNS = (
    *("run", "difficulty", "success", "success_low", "success_high", "tasks", "episodes", "turns_to_solve", "returns"),
    *(
        "malformed_rate",
        "cut_rate",
        "failures",
        "C_tok",
        "C_call",
        "C_tool",
        "U_tok",
        "pass_at_k",
        "task_hash",
        "fingerprint",
    ),
    *("sandbox", "latency_p50", "latency_p95"),
)


def _numbers(estimate: Estimate) -> list[float]:
    return [estimate.mean, estimate.low, estimate.high]


def _sizes(report: Report) -> list[object]:
    solve, cost = report.turns_to_solve, report.cost
    return [
        *(report.tasks, report.episodes, "" if math.isnan(solve) else solve, report.returns, report.malformed_rate),
        report.cut_rate,
        *(sum(report.failures.values()), cost.C_tok, cost.C_call, cost.C_tool),
        "" if math.isnan(cost.U_tok) else cost.U_tok,
        json.dumps({k: found.mean for k, found in report.pass_at_k.items()}),
    ]


def _rest(out: RunReport) -> list[object]:
    return [out.run.task_hash, out.run.fingerprint, out.run.sandbox, out.latency.p50, out.latency.p95]


def _summary(out: RunReport) -> Block:
    report = out.report
    rows = [
        (f"success, avg@{out.run.samples}", f"{report.success} %"),
        *((f"pass@{k}", f"{found} %") for k, found in report.pass_at_k.items() if k != "1"),
        ("tasks, episodes", f"{report.tasks}, {report.episodes}"),
        ("turns to solve", number(report.turns_to_solve)),
        ("return", number(report.returns)),
        ("malformed replies", f"{100 * report.malformed_rate:.2f} %"),
        ("replies cut off by the token limit", f"{100 * report.cut_rate:.2f} %"),
        ("episodes cut short", str(sum(report.failures.values()))),
    ]
    return Block(title=title_of(out), header=("", "[95 %]"), rows=tuple(rows))


def title_of(out: RunReport) -> str:
    """The game and who played it."""
    domain, workflow = (str(out.run.game[part]["name"]) for part in ("domain", "workflow"))
    return f"{domain}:{workflow}, {', '.join(f'{who}={name}' for who, name in out.run.agents.items())}"


def _levels(report: Report) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (level, str(found.success), str(found.tasks), str(found.episodes)) for level, found in report.by_level.items()
    )


def _counts(title: str, counts: Mapping[str, int]) -> Block:
    return Block(title=title, header=("", "count"), rows=tuple((name, str(n)) for name, n in counts.items()))


def _cost(out: RunReport) -> Block:
    cost = out.report.cost
    rows = (
        ("C_tok, generated tokens", str(cost.C_tok)),
        ("C_call, replies", str(cost.C_call)),
        ("C_tool, tool calls", str(cost.C_tool)),
        ("U_tok, solved per million tokens", number(cost.U_tok)),
        ("prompt tokens", str(cost.prompt_tokens)),
        ("K_e, replies at once", number(cost.K_e)),
        ("tokens a reply", number(cost.reply_tokens)),
        ("seconds an episode, P50 and P95", f"{out.latency.p50:.3g}, {out.latency.p95:.3g}"),
    )
    return Block(title="Cost", header=("", ""), rows=rows)


def _rerun(out: RunReport) -> Block:
    run = out.run
    rows: Sequence[tuple[str, str]] = (
        ("environment", f"{run.environment} of masgym {run.masgym}, game {run.fingerprint}"),
        ("tasks", f"{run.tasks} of split {run.split}, hash {run.task_hash}"),
        ("samples, seed", f"{run.samples}, {run.seed}"),
        ("sandbox", run.sandbox),
        ("settings", json.dumps(run.settings)),
        ("game", json.dumps(run.game)),
    )
    return Block(title="To run it again", header=("", ""), rows=tuple(rows))
