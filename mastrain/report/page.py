"""The page: findings, curves, states, groups. Static: no script, and its security policy lets it load nothing.

Whatever comes from a file (names, reasons, replies' notes) goes through `html.escape`.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from masgym.tags import printable
from mastrain.curves import svg
from mastrain.report.charts import Bars, Chart, bars, charts
from mastrain.report.diagnose import RULES, findings
from mastrain.report.finding import ORDER, Finding, Severity, listed
from mastrain.report.groups import SampledGroup, worst
from mastrain.report.reading import RunFolder
from mastrain.run_files import SPENT

PROBLEMS: tuple[Severity, ...] = ("fault", "warning", "note")
WIDTH = 60  # characters of a long text in a table
BAR = 150  # pixels of the longest bar


def page(run: RunFolder, viewer: str | None) -> str:
    """viewer: the file name of the viewer's page beside this one; None where there are no rollouts."""
    style = (files("mastrain.report") / "page.css").read_text(encoding="ascii")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    found = findings(run)
    parts = [_head(run), _summary(found), _problems(found), _fine(found), _curves(run), _states(run)]
    parts += [_groups(run, viewer), _rules()]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(run.name)} | why did it not learn?</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _head(run: RunFolder) -> str:
    spent = run.history.series(SPENT)
    facts = {
        "env": run.setting("env.name"),
        "workflow": run.setting("workflow.name"),
        "algo": run.setting("algo.name"),
        "policies": run.setting("policies.kind"),
        "model": run.setting("model.path") or run.setting("model.kind"),
        "seed": run.setting("seed"),
        "steps": f"{run.history.steps} of {run.setting('train.steps', '?')}",
        "tokens sampled": f"{spent[-1][1]:,.0f}" if spent else None,
    }
    shown = "".join(f"<dt>{name}</dt><dd>{_text(fact)}</dd>" for name, fact in facts.items() if fact is not None)
    return f"<header><h1>{_text(run.name)}</h1><dl>{shown}</dl></header>"


def _summary(found: Sequence[Finding]) -> str:
    """How many there are of each severity, and the one that matters most: did it learn?"""
    words: dict[Severity, str] = {
        "fault": "fault",
        "warning": "warning",
        "note": "note",
        "good": "passed",
        "unknown": "not known",
    }
    counts: list[tuple[Severity, int]] = [(severity, sum(f.severity == severity for f in found)) for severity in ORDER]
    several = {severity for severity, n in counts if n > 1 and severity in PROBLEMS}
    badges = [_badge(s, f"{n} {words[s]}{'s' if s in several else ''}") for s, n in counts if n]
    verdict = next((f for f in found if f.about == "held-out success"), None)
    told = f'<p class="verdict {verdict.severity}">{_prose(verdict.title)}</p>' if verdict else ""
    return f'{told}<p class="summary">{" ".join(badges)}</p>'


def _badge(severity: Severity, text: str) -> str:
    return f'<span class="badge {severity}">{text}</span>'


def _problems(found: Sequence[Finding]) -> str:
    cards = [_card(finding) for finding in found if finding.severity in PROBLEMS]
    return f"<section><h2>Findings</h2>{''.join(cards)}</section>" if cards else ""


def _card(finding: Finding) -> str:
    lines = [f"<p>{_prose(finding.seen)}</p>"] if finding.seen else []
    lines += [f'<p><b class="label">Why it matters</b> {_prose(finding.why)}</p>'] if finding.why else []
    if finding.advice:
        items = "".join(f"<li>{_prose(one)}</li>" for one in finding.advice)
        lines.append(f'<div class="advice"><b class="label">What to try</b><ul>{items}</ul></div>')
    head = f"<h3>{_badge(finding.severity, finding.severity)} {_prose(finding.title)}</h3>"
    return f'<article class="card {finding.severity}">{head}{"".join(lines)}</article>'


def _fine(found: Sequence[Finding]) -> str:
    rows = [
        f"<li>{_badge(f.severity, 'ok' if f.severity == 'good' else '?')} <b>{_prose(f.about)}</b> "
        f'{_prose(f.title)}. <span class="quiet">{_prose(f.seen)}</span></li>'
        for f in found
        if f.severity not in PROBLEMS
    ]
    return f'<section><h2>Checked</h2><ul class="checked">{"".join(rows)}</ul></section>' if rows else ""


def _curves(run: RunFolder) -> str:
    figures = [_figure(chart) for chart in charts(run)]
    if not figures:
        return ""
    head = "<h2>Curves <small>over training steps</small></h2>"
    return f'<section>{head}<div class="figures">{"".join(figures)}</div></section>'


def _figure(chart: Chart) -> str:
    axes = chart.axes
    keys = [
        f'<li><i class="c{i % 10}"></i>{_text(label)} <b>{axes.text_y(float(f"{points[-1][1]:.3g}"))}</b></li>'
        for i, (label, points) in enumerate(chart.curves.items())
    ]
    return (
        f'<figure><figcaption>{_text(chart.title)} <span class="quiet">{_text(chart.note)}</span></figcaption>'
        f'{_untitled(svg(chart.title, chart.curves, axes))}<ul class="keys">{"".join(keys)}</ul></figure>'
    )


def _untitled(picture: str) -> str:
    """The caption says the title already."""
    return re.sub(r'<text x="[^"]*" y="24.0" text-anchor="start">[^<]*</text>', "", picture, count=1)


def _states(run: RunFolder) -> str:
    figures = [_histogram(one) for one in bars(run)]
    return f'<section><h2>States</h2><div class="figures">{"".join(figures)}</div></section>' if figures else ""


def _histogram(chart: Bars) -> str:
    labels = list(next(iter(chart.sides.values())))
    most = max((share for side in chart.sides.values() for share in side.values()), default=0) or 1
    rows = [_bar_row(label, chart.sides, most) for label in labels]
    keys = "".join(f'<li><i class="c{i}"></i>{_text(side)}</li>' for i, side in enumerate(chart.sides))
    return (
        f'<figure><figcaption>{_text(chart.title)} <span class="quiet">{_text(chart.note)}</span></figcaption>'
        f'<table class="bars">{"".join(rows)}</table><ul class="keys">{keys}</ul></figure>'
    )


def _bar_row(label: str, sides: Mapping[str, Mapping[str, float]], most: float) -> str:
    height = 9 * len(sides)
    drawn = "".join(
        f'<rect class="bar c{i}" y="{9 * i}" width="{BAR * side[label] / most:.1f}" height="8"/>'
        for i, side in enumerate(sides.values())
    )
    numbers = " / ".join(f"{100 * side[label]:.1f}%" for side in sides.values())
    picture = f'<svg width="{BAR}" height="{height}" viewBox="0 0 {BAR} {height}" aria-hidden="true">{drawn}</svg>'
    return f'<tr><th>{_text(label)}</th><td>{picture}</td><td class="number">{numbers}</td></tr>'


def _groups(run: RunFolder, viewer: str | None) -> str:
    shown = worst(run.groups)
    if not shown:
        return ""
    names = ("task", "level", "turn", "role", "rewards", "different", "malformed", "solved", "what it is")
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_group(group, viewer) for group in shown)
    return (
        f"<section><h2>The worst groups <small>of step {shown[0].step}, the last in rollouts.jsonl</small></h2>"
        f'<p class="quiet">Without signal first, then by what they earned. A link opens the group in its tree.</p>'
        f'<table class="groups"><tr>{head}</tr>{rows}</table></section>'
    )


def _group(group: SampledGroup, viewer: str | None) -> str:
    episode, event = group.place
    link = f"{viewer}#episode-{episode}-event-{event}"
    task = f'<a href="{escape(link)}">{_short(group.task)}</a>' if viewer else _short(group.task)
    low, high = min(group.rewards), max(group.rewards)
    rewards = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
    told = {"malformed": "all malformed", "same reply": "one reply", "solved": "all solve it"}
    what = told.get(group.cause, "same score") if group.flat else "low reward"
    total = len(group.rewards)
    cells = (task, _text(group.level), group.turn, _text(listed(group.roles)), rewards)
    cells += (f"{group.replies} of {total}", f"{group.malformed} of {total}", f"{group.solved} of {total}")
    why = [f"{reason} ({n})" for of_role in group.reasons.values() for reason, n in of_role.items()]
    note = f' <span class="quiet">{_short("; ".join(why))}</span>' if why else ""
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}<td>{what}{note}</td></tr>"


def _rules() -> str:
    rows = "".join(f"<li><b>{_text(about)}</b> {_text(rule)}</li>" for about, rule in RULES.items())
    return f'<section><details><summary>How it is judged</summary><ul class="checked">{rows}</ul></details></section>'


def _prose(text: str) -> str:
    """Escaped; what stands between backticks is code."""
    parts: Iterable[str] = _text(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _short(text: str) -> str:
    return _text(text if len(text) <= WIDTH else f"{text[:WIDTH]}...")


def _text(text: object) -> str:
    return escape(printable(str(text)))
