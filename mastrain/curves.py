"""A picture of curves, as one self-contained SVG. Its classes let a page that holds it choose other colours."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from masgym.types import value

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999", "#7f3fbf", "#8c564b")
Curves = Mapping[str, Sequence[tuple[float, float]]]  # label -> points (x >= 0, y)


@value
class Axes:
    """Size in pixels, and what the scales say."""

    width: int = 860
    height: int = 420
    left: int = 60
    top: int = 40
    right: int = 230  # the legend stands there
    bottom: int = 50
    low: float = 0.0  # of y
    high: float = 1.0
    ticks: int = 5  # intervals of each scale
    legend: bool = True
    text_x: Callable[[float], str] = lambda x: f"{x / 1000:,.0f}k"
    text_y: Callable[[float], str] = lambda y: f"{100 * y:.0f}%"

    def x(self, x: float, most: float) -> float:
        return self.left + (self.width - self.left - self.right) * x / most

    def y(self, y: float) -> float:
        share = (y - self.low) / (self.high - self.low)
        return self.height - self.bottom - (self.height - self.top - self.bottom) * share


SHARES = Axes()  # of what a method solves, over sampled tokens


def svg(title: str, curves: Curves, axes: Axes = SHARES) -> str:
    """One line for each curve; one with a single point is drawn as a level line."""
    most = max((x for points in curves.values() for x, _ in points), default=0) or 1
    parts = [_text(axes.left, 24, title), *_grid(axes, most)]
    for i, (name, points) in enumerate(curves.items()):
        if not points:
            continue
        level = [*points, (most, points[0][1])] if len(points) == 1 else points
        path = " ".join(f"{axes.x(x, most):.1f},{axes.y(y):.1f}" for x, y in level)
        label = f"<title>{escape(name)}</title>"
        parts.append(f'<polyline points="{path}" fill="none" {_stroke(i, len(points) == 1)}>{label}</polyline>')
        if axes.legend:
            parts += _entry(axes, i, f"{name} {100 * points[-1][1]:.0f}", len(points) == 1)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{axes.width}" height="{axes.height}" '
    head += f'viewBox="0 0 {axes.width} {axes.height}" font-family="sans-serif" font-size="12" role="img" '
    head += f'aria-label="{escape(title)}">'
    return head + '<rect class="paper" width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>\n"


def _grid(axes: Axes, most: float) -> list[str]:
    lines = list[str]()
    for tick in range(axes.ticks + 1):
        x, y = most * tick / axes.ticks, axes.low + (axes.high - axes.low) * tick / axes.ticks
        at = f"{axes.y(y):.1f}"
        lines.append(
            f'<line class="grid" x1="{axes.left}" y1="{at}" x2="{axes.width - axes.right}" y2="{at}" stroke="#ddd"/>'
        )
        lines.append(_text(axes.left - 8, axes.y(y) + 4, axes.text_y(y), "end"))
        lines.append(_text(axes.x(x, most), axes.height - axes.bottom + 20, axes.text_x(x), "middle"))
    return lines


def _entry(axes: Axes, i: int, text: str, dashed: bool) -> list[str]:
    x, y = axes.width - axes.right + 15, axes.top + 16 * i
    line = f'<line x1="{x}" y1="{y}" x2="{x + 20}" y2="{y}" {_stroke(i, dashed)}/>'
    return [line, _text(x + 26, y + 4, text)]


def _stroke(i: int, dashed: bool) -> str:
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'class="curve c{i % len(COLOURS)}" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="2"{dash}'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
