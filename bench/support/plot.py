"""Bar charts as SVG, readable on light and dark pages: a bar is a median, the line on it the range of the samples."""

import math
from html import escape

STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #24292f; }
  .title { font-size: 15px; font-weight: 600; } .panel { font-weight: 600; } .small { font-size: 11px; }
  .ours { fill: #1f6fd0; } .peer { fill: #a8b1bb; } .other { fill: #d9a441; }
  .range { stroke: #24292f; stroke-width: 1.4; } .axis { stroke: #c4cbd2; stroke-width: 1; }
  .target { stroke: #c0392b; stroke-width: 1.4; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .ours { fill: #5aa7ff; } .peer { fill: #6e7781; } .other { fill: #c99a3c; }
    .range { stroke: #e6edf3; } .axis { stroke: #484f58; } .target { stroke: #ff7b72; }
  }
"""
WIDTH, LABEL, VALUE, ROW = 470, 200, 118, 20


def number(x):
    """Three digits."""
    if x == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(x))))
    return f"{x:,.{digits}f}"


def bars(title, unit, panels, log=False, target=None, columns=2):
    """panels: [(name, [(label, kind, median, low, high)])]; kind: ours, peer, other. `target`: a line at that value."""
    panels = [(name, rows) for name, rows in panels if rows]
    heights = [34 + ROW * len(rows) for _, rows in panels]
    lines = [heights[i : i + columns] for i in range(0, len(heights), columns)]
    height = 40 + sum(max(line) + 8 for line in lines) + 6
    width = WIDTH * min(columns, len(panels))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="10" y="22">{escape(title)}</text>',
        f'<text class="small" x="{width - 10}" y="22" text-anchor="end">{escape(unit)}</text>',
    ]
    top = 40
    for index, (name, rows) in enumerate(panels):
        left = (index % columns) * WIDTH + 10
        out += _panel(left, top, name, rows, log, target)
        if index % columns == columns - 1:
            top += max(heights[index - columns + 1 : index + 1]) + 8
    return "\n".join(out + ["</svg>"]) + "\n"


def _panel(left, top, name, rows, log, target):
    span = WIDTH - LABEL - VALUE - 20
    most = max([high for *_, high in rows] + ([target] if target else []))
    least = min(low for _, _, _, low, _ in rows if low > 0) / 2 if log else 0

    def place(value):
        if log:
            value = max(value, least)
            return span * math.log(value / least) / math.log(most / least)
        return span * value / most if most else 0

    x0 = left + LABEL
    out = [f'<text class="panel" x="{left}" y="{top + 14}">{escape(name)}</text>']
    y = top + 24
    for label, kind, median, low, high in rows:
        middle = y + ROW / 2
        out += [
            f'<text x="{x0 - 6}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="{kind}" x="{x0}" y="{y + 3}" width="{max(place(median), 0.5):.1f}" height="{ROW - 6}"/>',
            f'<line class="range" x1="{x0 + place(low):.1f}" x2="{x0 + place(high):.1f}" y1="{middle}" y2="{middle}"/>',
            f'<text class="small" x="{x0 + span + 6}" y="{middle + 4}">{number(median)} '
            f'({number(low)}–{number(high)})</text>',
        ]
        y += ROW
    out.append(f'<line class="axis" x1="{x0}" x2="{x0}" y1="{top + 24}" y2="{y}"/>')
    if target:
        at = x0 + place(target)
        out.append(f'<line class="target" x1="{at:.1f}" x2="{at:.1f}" y1="{top + 22}" y2="{y}"/>')
    return out
