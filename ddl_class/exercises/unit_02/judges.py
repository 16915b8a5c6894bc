"""The judges of unit 02: im2col's matrix, Winograd's tiles, the FFT, and a row in few products.

That a result is right does not show how it was found. Rounding does: a huge pixel that the kernel
multiplies by zero leaves no trace in a direct convolution. Winograd's tile adds it to its
neighbours before it takes it away again; the FFT adds it to the whole image. How huge it is, where
it lies and in how large an image is drawn, and the result must be right but for rounding.
"""

import math
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, alike, ask, texts, why, within
from ddl_class.exercises.kit.answers import array, items, not_none, several
from ddl_class.exercises.kit.holds import most_at_once
from ddl_class.exercises.unit_02.row_program import STEP, BadStep, carried_out

EACH, OUTPUTS, IM2COL, WINOGRAD, FFT, PROGRAM = texts(
    __package__, "", "outputs", "im2col", "winograd", "fft", "program"
)
TOLERANCE = 1e-8
HUGE = (8, 13)  # powers of ten: beside these a double has little room for numbers around one
ROUNDED = 1e-13  # of the huge pixel: more than any algorithm here rounds away


def judge_outputs(attempt: Attempt) -> None:
    """Rows and kernels of several sizes, with and without padding and stride."""
    drawn = (*attempt.generator.integers((10, 2, 2, 1), (60, 8, 5, 4)).tolist(),)
    for n, kernel, stride, padding in ((5, 3, 1, 0), (32, 5, 1, 2), (9, 3, 3, 1), drawn):
        right = (n + 2 * padding - kernel) // stride + 1
        ask(attempt, OUTPUTS, (n, kernel, stride, padding), right).compare(
            first_forgotten=right - 1,
            no_padding=(n - kernel) // stride + 1,
            one_end=(n + padding - kernel) // stride + 1,
            no_stride=n + 2 * padding - kernel + 1,
            not_whole=(n + 2 * padding - kernel) / stride + 1,
        )


GOAL = 132e-9


def judge_program(attempt: Attempt) -> None:
    """Four outputs of random rows are right, and the steps take no longer than the goal."""
    given, written = several(attempt.call(), 2, PROGRAM("wanted"))
    steps = items(given, PROGRAM("wanted"), str)
    PROGRAM.refuse_if(wanted=not (isinstance(written, dict) and not isinstance(given, str)))
    names = {str(name): PROGRAM("factors", name=name) for name in written}
    sums = {name: array(written[name], wanted, (3,)).tolist() for name, wanted in names.items()}
    seconds = 0.0
    for _ in range(3):
        pixels, weights = map(attempt.generator.standard_normal, (6, 3))
        try:
            values, seconds = carried_out(steps, sums, pixels.tolist(), weights.tolist())
        except BadStep as bad:
            reasons = "unreadable", "no_pixel", "two_pixels", "unknown"
            so = {reason: bad.reason == reason for reason in reasons}
            why = PROGRAM.first({"name": bad.name}, **so)
            raise Wrong(PROGRAM("bad", step=bad.step, why=why)) from bad
        for place, right in enumerate(np.correlate(pixels, weights)):
            name = f"y{place}"
            PROGRAM.refuse_if({"name": name}, missing=name not in values)
            compared = {"name": name, "place": place, "found": values[name], "right": right}
            PROGRAM.refuse_if(compared, wrong=not math.isclose(values[name], right, abs_tol=1e-9))
    products = round(seconds // 16e-9)
    took = {"took": seconds * 1e9, "goal": GOAL * 1e9}
    PROGRAM.refuse_if(
        took | {"products": products}, too_slow=seconds > GOAL + 1e-12 and products > 7,
        too_many_sums=seconds > GOAL + 1e-12,
    )  # fmt: skip
    used = [STEP.findall(step)[0] for step in steps]
    last = {name: number for number, names in enumerate(used) for name in names[1:]}
    made = {name: number for number, (name, *_) in reversed([*enumerate(used)])}
    held = ((made.get(name, 0), last.get(name, len(steps)), 1) for name in values)
    attempt.note(seconds, PROGRAM("holds", most=most_at_once(held)))


def judge_im2col(attempt: Attempt) -> None:
    """Rows are weights, channel by channel; columns are outputs, image by image."""
    for kernel, stride in ((1, 1), (2, 1), (3, 1), (3, 2), (5, 3), (2, 2)):
        height, width = (int(kernel + attempt.generator.integers(2, 8)) for _ in "hw")
        images = int(attempt.generator.integers(2, 4))
        x = attempt.generator.standard_normal((images, 3, height, width))
        windows = _windows(x, kernel)
        strided = windows[:, :, ::stride, ::stride]

        def matrix(axes: str, of: np.ndarray = strided, kernel: int = kernel) -> np.ndarray:
            return np.einsum(f"nchwij->{axes}", of).reshape(3 * kernel * kernel, -1)

        right = matrix("cijnhw")
        usual = IM2COL.each(
            every_patch=matrix("cijnhw", windows),
            on_its_side=right.T,
            images_last=matrix("cijhwn"),
            channels_last=matrix("ijcnhw"),
            by_columns=matrix("cjinhw"),
            flipped=matrix("cijnhw", strided[..., ::-1, ::-1]),
        )
        call = IM2COL("call", kernel=kernel, stride=stride, shape=x.shape)
        _judge_array(call, attempt.call(x, kernel, stride), right, usual)


def judge_winograd(attempt: Attempt) -> None:
    """The convolution itself, with two channels and odd counts of tiles, and found by tiles."""
    for images, channels, out, high, wide in ((2, 3, 4, 3, 2), (1, 1, 1, 1, 1), (1, 1, 2, 2, 3)):
        x = attempt.generator.standard_normal((images, channels, 2 * high + 2, 2 * wide + 2))
        weight = attempt.generator.standard_normal((out, channels, 3, 3))
        right = _convolve(x, weight)
        tiled = right.reshape(images, out, high, 2, wide, 2).swapaxes(3, 4)
        usual = _usual(x, weight) | WINOGRAD.each(
            rows_of_tiles=tiled.reshape(right.shape),
            tiles=tiled,
            matrix_product=_matrix_product_of_tiles(x, weight),
        )
        call = WINOGRAD("call", x=x.shape, weight=weight.shape)
        _judge_array(call, attempt.call(x, weight), right, usual)
    corners = np.zeros((1, 1, 3, 3))
    corners[..., ::2, ::2] = attempt.generator.uniform(1, 2, (2, 2))
    traces = []
    for middle in ((1, 1), (2, 1), (1, 2), (2, 2)):
        tiles = attempt.generator.integers(1, 4, 2)
        row, column = 2 * attempt.generator.integers(tiles)
        spoiled = np.zeros(2 * tiles, bool)  # outputs of all tiles that hold the pixel
        spoiled[max(0, row - 2) : row + 4, max(0, column - 2) : column + 4] = True
        place = row + middle[0], column + middle[1]
        traces.append(_leaves_a_trace(attempt, 2 * tiles + 2, corners, place, spoiled))
    WINOGRAD.refuse_if({}, no_tiles=not any(traces))


def judge_fft(attempt: Attempt) -> None:
    """The convolution itself, with odd and even sizes, and found by way of frequencies."""
    for kernel, height, width in ((3, 8, 8), (2, 7, 6), (5, 6, 9), (3, 5, 7), (1, 4, 5)):
        x = attempt.generator.standard_normal((2, 3, height, width))
        weight = attempt.generator.standard_normal((4, 3, kernel, kernel))
        size = height, width
        images, kernels = (np.fft.rfft2(part, size) for part in (x, weight))
        whole, flipped = (_circular(images, by, size) for by in (kernels.conj(), kernels))
        cut = ..., slice(height - kernel + 1), slice(width - kernel + 1)
        usual = _usual(x, weight) | FFT.each(
            uncut=whole,
            uncut_flipped=flipped,
            other_side=whole[..., kernel - 1 :, kernel - 1 :],
            no_conjugate=flipped[cut],
            conjugate_image=_circular(images.conj(), kernels, size)[cut],
        )
        call = FFT("call", x=x.shape, weight=weight.shape)
        _judge_array(call, attempt.call(x, weight), whole[cut], usual)
    traces = []
    for kernel in attempt.generator.permutation([2, 3, 5]):
        sides = attempt.generator.integers(kernel + 2, kernel + 8, 2)
        weight = attempt.generator.uniform(1, 2, (1, 1, kernel, kernel))
        place = attempt.generator.integers(2) * (sides - 1)
        traces.append(_leaves_a_trace(attempt, sides, weight, place, np.array(True)))
    FFT.refuse_if({}, no_frequencies=not any(traces))


def _leaves_a_trace(
    attempt: Attempt, size: np.ndarray, weight: np.ndarray, place: Any, spoiled: np.ndarray
) -> bool:
    """Whether a huge pixel at this place shows in outputs that have no share of it. `Wrong` if an
    output is further off than rounding can bring one that is `spoiled`."""
    x = attempt.generator.uniform(1, 2, (1, 1, *size))
    x[(0, 0, *place)] = huge = 10 ** attempt.generator.uniform(*HUGE)
    result, right = attempt.call(x, weight), _convolve(x, weight)
    room = TOLERANCE * (1 + abs(right)) + ROUNDED * huge * spoiled
    shaped = isinstance(result, np.ndarray) and result.shape == right.shape
    if not shaped or not (abs(result - right) <= room).all():
        call = EACH("huge", x=x.shape, weight=weight.shape, huge=huge)
        _judge_array(call, result, right, {})
    untouched = _convolve((x == huge).astype(float), weight) == 0
    return bool((abs(result - right) > 1e-12 * right)[untouched].any())


def _windows(x: np.ndarray, kernel: int) -> np.ndarray:
    """All patches of all images: (images, channels, high, wide, kernel, kernel)."""
    return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))


def _convolve(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The definition: every output is a sum over channels and over the kernel."""
    return np.einsum("nchwij,kcij->nkhw", _windows(x, weight.shape[2]), weight)


def _circular(images: np.ndarray, kernels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The convolution of images that go round: what frequencies give before the cut."""
    return np.fft.irfft2(np.einsum("nchw,kchw->nkhw", images, kernels), size)


def _matrix_product_of_tiles(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Winograd's F(2x2, 3x3) gone wrong: transformed tiles multiplied as matrices."""
    pixels = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    kernels = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    back = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
    tiles = pixels @ _windows(x, 4)[:, :, ::2, ::2] @ pixels.T
    product = np.einsum("nchwij,kcjl->nkhwil", tiles, kernels @ weight @ kernels.T)
    out = (back @ product @ back.T).swapaxes(3, 4)
    return out.reshape(*out.shape[:2], 2 * out.shape[2], 2 * out.shape[4])


def _usual(x: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Mistakes that every convolution can make."""
    mistakes = EACH.each(
        upside_down=_convolve(x, weight[..., ::-1, ::-1]),
        sideways=_convolve(x, weight.swapaxes(2, 3)),
        channels_first=_convolve(x, weight).swapaxes(0, 1),
    )
    if x.shape[1] > 1:
        each = [_convolve(x[:, c : c + 1], weight[:, c : c + 1]) for c in range(x.shape[1])]
        mistakes |= EACH.each(first_channel=each[0], channels_apart=np.stack(each, axis=2))
    return mistakes


def _judge_array(call: str, result: Any, right: np.ndarray, usual: dict[str, np.ndarray]) -> None:
    """`Wrong`, unless the array is right; names a mistake whose result it would be."""
    not_none(result, EACH("wanted", call=call))
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "fiuc":
        raise Wrong(EACH("no_array", kind=type(result).__name__))
    same = within(TOLERANCE, TOLERANCE)
    if words := why(result, usual, same=lambda a, b: same(a, b) and not alike(b, right)):
        raise Wrong(f"{call}: {words}")
    EACH.refuse_if(
        {"call": call, "found": result.shape, "right": right.shape},
        complex=result.dtype.kind == "c",
        shape=result.shape != right.shape,
    )
    if not same(result, right):
        close = np.isclose(result, right, rtol=TOLERANCE)
        first = tuple(map(int, np.argwhere(~close)[0]))
        rearranged = same(np.sort(result, axis=None), np.sort(right, axis=None))
        values = {"call": call, "share": np.isclose(result, right).mean(), "first": first}
        values |= {"found": result[first], "right": right[first]}
        raise Wrong(EACH("wrong", why=EACH.first(wrong_places=rearranged), **values))
