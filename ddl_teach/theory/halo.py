"""What a tile of an image needs from its neighbours, and the bytes that must be sent for it.

An image is cut into strips, and a layer with windows of k rows, stride s and padding p runs over
each of them. Its output is to be cut at the same places, so a strip of h rows must give h / s.
That works exactly if

    2 p < k <= 2 p + s        then a strip needs   p rows before it and   k - s - p   after it

and a strip without a neighbour there has zeros: the padding. So a 3 x 3 convolution that pads by 1
needs one row on each side. A 1 x 1 convolution and a 2 x 2 pooling need none.

Take N images, C maps and rows of w points. A strip between two others sends N C w (k - s) numbers
forwards and as many backwards. With more ranks a strip gets thinner, but its edges do not. A tile
can compute its core, whose windows stay inside, while rows travel, and what is above and below the
core while columns do. A layer then takes

    max(rows, core) + max(columns, above and below) + left and right

in place of the sum of all. Dryden et al. 2019.
What to look at: many images do not help. Halo and image grow together.
"""

from ddl_teach.theory.inputs import cost, count
from ddl_teach.theory.machine import Link


def halo(kernel: int, stride: int = 1, padding: int = 0) -> tuple[int, int]:
    """Rows that a strip needs of those before it and of those after it."""
    count("kernel", kernel)
    count("stride", stride)
    if not 2 * padding < kernel <= 2 * padding + stride:
        fitting = max(-(-(kernel - stride) // 2), 0)
        advice = (
            f"with padding={fitting} it would be"
            if 2 * fitting < kernel
            else "an even window with stride 1 never fits: it has no middle"
        )
        raise ValueError(
            f"windows of {kernel} with stride {stride} and padding {padding}: a strip of rows "
            f"would not become 1/{stride} as many rows. For that, 2 * padding < kernel <= "
            f"2 * padding + stride must be true; {advice}"
        )
    return padding, max(kernel - stride - padding, 0)


def seconds(
    height: int, width: int, link: Link, *, reach: int, per_point: float, point_bytes: float,
    across: bool = True, overlap: bool = False,
) -> float:  # fmt: skip
    """One layer, forwards, on a tile with neighbours on all sides; of strips, not `across`.
    Windows of `reach` points (odd) take steps of one and pad by half; one point of all maps and
    images takes `per_point` seconds and has `point_bytes` bytes.
    """
    edge = (count("reach", reach) - 1) // 2
    latency, per_byte = link.latency, link.per_byte
    rows = latency + 2 * edge * width * point_bytes * per_byte
    columns = latency + 2 * edge * (height + 2 * edge) * point_bytes * per_byte if across else 0.0
    middle = width - 2 * edge * across
    if not overlap:
        return rows + columns + height * width * cost("per_point", per_point)
    core, outer = (max(height - 2 * edge, 0) * middle, min(2 * edge, height) * middle)
    sides = height * (width - middle)
    return max(rows, core * per_point) + max(columns, outer * per_point) + sides * per_point
