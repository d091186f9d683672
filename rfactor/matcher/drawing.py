"""The dependency graph of an update and its groups as SVG, after figure 4 of the paper."""

from __future__ import annotations

from xml.sax.saxutils import escape

from rfactor.ir.expr import variables
from rfactor.ir.graph import dependencies
from rfactor.ir.printer import show
from rfactor.matcher.answer import Answer

_STEP, _RADIUS, _MARGIN, _TOP = 110, 22, 70, 90
_COLOURS = ("#c0392b", "#2471a3", "#1e8449", "#9a7d0a", "#7d3c98", "#117a65")

_FONT = 'font-family="monospace" font-size="13" text-anchor="middle"'
_ARROWHEAD = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
)


def draw(answer: Answer) -> str:
    """An SVG document: a circle a component, arrows to those it refers to, data below, a frame a group."""
    update = answer.update
    count = len(update.types)
    own = {x.name for x in update.accumulators}
    edges = dependencies(update)
    height = _TOP + 150 + 26 * len(answer.groups)
    width = 2 * _MARGIN + _STEP * max(count - 1, 1) + 140
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {_FONT}>',
        _ARROWHEAD,
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, targets in zip(range(count), edges, strict=True):
        for j in sorted(targets):
            parts.append(_arrow(_x(i), _x(j)))
    for i in range(count):
        data = [var.name for var in variables(update.components[i]) if var.name not in own]
        parts.append(f'<circle cx="{_x(i)}" cy="{_TOP}" r="{_RADIUS}" fill="white" stroke="black"/>')
        parts.append(f'<text x="{_x(i)}" y="{_TOP + 5}">x{i}</text>')
        parts.append(f'<text x="{_x(i)}" y="{_TOP + 62}" fill="#555">{escape(", ".join(data))}</text>')
    for number, group in zip(range(len(answer.groups)), answer.groups, strict=True):
        parts += _group(answer, number, group)
    return "\n".join([*parts, "</svg>", ""])


def _x(i: int) -> int:
    return _MARGIN + _STEP * i


def _arrow(start: int, end: int) -> str:
    if start == end:
        path = f"M{start - 10} {_TOP - _RADIUS + 2} C{start - 34} {_TOP - 70} {start + 34} {_TOP - 70} "
        path += f"{start + 10} {_TOP - _RADIUS + 2}"
    else:
        side = 1 if end > start else -1
        bend = _TOP - 30 - abs(end - start) // 6 if side > 0 else _TOP + 30 + abs(end - start) // 8
        path = (
            f"M{start + side * 16} {_TOP - 16 * side} Q{(start + end) // 2} {bend} {end - side * 18} {_TOP - 14 * side}"
        )
    return f'<path d="{path}" fill="none" stroke="black" marker-end="url(#arrow)"/>'


def _group(answer: Answer, number: int, group: tuple[int, ...]) -> list[str]:
    """A dotted frame, and the group's operator below."""
    colour = _COLOURS[number % len(_COLOURS)]
    left, right = _x(min(group)) - 34 - 3 * number, _x(max(group)) + 34 + 3 * number
    top, bottom = _TOP - 62 - 3 * number, _TOP + 40 + 3 * number
    frame = (
        f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" rx="24" fill="none" '
        f'stroke="{colour}" stroke-dasharray="3 4"/>'
    )
    text = "{" + ", ".join(f"x{i}" for i in group) + "}"
    if answer.operator is not None:
        text += ": " + ", ".join(show(answer.operator[i]) for i in group)
    label = f'<text x="20" y="{_TOP + 100 + 26 * number}" fill="{colour}" text-anchor="start">{escape(text)}</text>'
    return [frame, label]
