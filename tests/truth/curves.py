"""Curves over a logarithmic axis, as SVG: of what rfprof's own plots do not have, such as predictions and bytes of all levels."""

import math

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM, INSET = 780, 420, 72, 40, 120, 50, 10
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def nice_step(most):
    """Of some five steps up to there."""
    power = 10 ** math.floor(math.log10(most / 5))
    return next(step * power for step in (1, 2, 5, 10) if most / (step * power) <= 6)


def curves(path, title, across, up, series, marks=(), dots=(), log=False):
    """`series`: points of each name, joined by a line unless it is among `dots`; `marks`: names at places across.
    `log`: the axis up, too; what is 0 stands at its foot."""
    points = [point for values in series.values() for point in values]
    low, high = (math.log2(f(x for x, _ in points)) for f in (min, max))
    top = max(y for _, y in points) * (2 if log else 1.05)
    foot = min(y for _, y in points if y) / 2 if log else 0

    def height(y):
        return math.log(max(y, foot) / foot) / math.log(top / foot) if log else y / top

    def place(x, y):
        return (LEFT + INSET + (math.log2(x) - low) / (high - low or 1) * (WIDTH - LEFT - RIGHT - 2 * INSET),
                HEIGHT - BOTTOM - height(y) * (HEIGHT - TOP - BOTTOM))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">{title}</text>',
           f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{across}</text>',
           f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{up}</text>',
           f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#888888"/>']

    def label(x, y, text, anchor):
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#555555">{text}</text>')

    for power in range(math.ceil(low), math.floor(high) + 1, 1 if log else 2):
        label(place(2 ** power, 0)[0], HEIGHT - BOTTOM + 16, 2 ** power, "middle")
    step = nice_step(top)
    ticks = [10 ** k for k in range(math.ceil(math.log10(foot)), math.floor(math.log10(top)) + 1)] if log else \
        [k * step for k in range(int(top / step) + 1)]
    for tick in ticks:
        label(LEFT - 6, place(2 ** low, tick)[1] + 4, f"{tick:g}" if tick < 10 ** 5 else f"{tick:.0e}".replace("e+0", "e"), "end")
    for name, x in marks:
        if low < math.log2(x) < high:
            at = place(x, 0)[0]
            out.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#bbbbbb" stroke-dasharray="3 3"/>')
            label(at + 3, TOP + 12, name, "start")
    for k, (name, values) in enumerate(series.items()):
        places = [place(x, y) for x, y in values]
        above = len(series) - 1 - k  # which may lie on the same places: wider ones can be seen below
        if name not in dots:
            line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            out.append(f'<path d="M{line}" fill="none" stroke="{COLOURS[k]}" stroke-width="{1.5 + 1.5 * above}"/>')
        places.append((WIDTH - RIGHT + 18, TOP + 20 * (k + 1) - 4))
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 + above}" fill="{COLOURS[k]}"/>' for x, y in places]
        out.append(f'<text x="{WIDTH - RIGHT + 30}" y="{TOP + 20 * (k + 1)}" fill="{COLOURS[k]}">{name}</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*out, "</svg>"]) + "\n")
