"""A picture of curves, as one self-contained SVG."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 420, 60, 40, 230, 50  # pixels; the legend stands on the right
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999", "#7f3fbf", "#8c564b")


def svg(title: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Each curve's points are (x >= 0, a share in [0, 1]); one with a single point is drawn as a level line."""
    most = max((x for points in curves.values() for x, _ in points), default=0) or 1
    parts = [_text(LEFT, 24, title), *_grid(most)]
    for i, (name, points) in enumerate(curves.items()):
        colour, y = COLOURS[i % len(COLOURS)], TOP + 16 * i
        level = [*points, (most, points[0][1])] if len(points) == 1 else points
        path = " ".join(f"{_x(x, most):.1f},{_y(share):.1f}" for x, share in level)
        dash = ' stroke-dasharray="5 4"' if len(points) == 1 else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        at = WIDTH - RIGHT + 15
        parts.append(f'<line x1="{at}" y1="{y}" x2="{at + 20}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(_text(at + 26, y + 4, f"{name} {100 * points[-1][1]:.0f}"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
    return head + 'font-size="12"><rect width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>\n"


def _grid(most: float) -> list[str]:
    lines = list[str]()
    for tick in range(6):
        share, x = tick / 5, most * tick / 5
        lines.append(
            f'<line x1="{LEFT}" y1="{_y(share):.1f}" x2="{WIDTH - RIGHT}" y2="{_y(share):.1f}" stroke="#ddd"/>'
        )
        lines.append(_text(LEFT - 8, _y(share) + 4, f"{100 * share:.0f}%", "end"))
        lines.append(_text(_x(x, most), HEIGHT - BOTTOM + 20, f"{x / 1000:,.0f}k", "middle"))
    return lines


def _x(x: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * x / most


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
