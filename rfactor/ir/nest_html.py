"""Loop nests as a page: the text of `nest_printer`, each body in a part that folds."""

from __future__ import annotations

import re
from html import escape

_STYLE = """\
body { font: 14px/1.5 monospace; margin: 2em; }
details > div { padding-left: 2ch; border-left: 1px solid #ddd; }
summary { cursor: pointer; }
b { color: #0550ae; font-weight: normal; }
.line { white-space: pre-wrap; padding-left: 2ch; text-indent: -2ch; }
"""
_KEYWORDS = re.compile(
    r"^(pipeline|assert|allocate|realize|produce|consume|let|if|else|(?:parallel |vectorized |unrolled )?for)\b"
)


def page(title: str, text: str) -> str:
    """A page that shows `text`, whose bodies are indented by two spaces."""
    lines = [line for line in text.split("\n") if line.strip()]
    parts: list[str] = []
    open_: list[int] = []
    for i in range(len(lines)):
        depth = _depth(lines[i])
        while open_ and open_[-1] >= depth:
            open_.pop()
            parts.append("</div></details>")
        shown = _KEYWORDS.sub(r"<b>\1</b>", escape(lines[i].strip(), quote=False))
        if i + 1 < len(lines) and _depth(lines[i + 1]) > depth:
            parts.append(f"<details open><summary>{shown}</summary><div>")
            open_.append(depth)
        else:
            parts.append(f'<div class="line">{shown}</div>')
    parts += ["</div></details>"] * len(open_)
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>\n{_STYLE}</style>'
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
