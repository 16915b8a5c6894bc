"""The usual mistakes of unit 02, and words of the message that must name each."""

import math

import numpy as np

BT = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
AT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])


def row_with(less: int = 0, add: bool = True, weights: int = 0, places: int = 0):
    """A convolution of a row that is right but for what the arguments say."""

    def convolve_row(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        y = np.zeros(len(x) - len(kernel) + 1 - less)
        for p in range(places or len(y)):
            for i in range(weights or len(kernel)):
                y[p] = kernel[i] * x[p + i] + (y[p] if add else 0)
        return y

    return convolve_row


def windows(x: np.ndarray, kernel: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))


def columns(axes: tuple[int, ...]):
    """An im2col whose axes (image, channel, high, wide, i, j) come in this order."""

    def im2col(x: np.ndarray, kernel: int, stride: int) -> np.ndarray:
        seen = windows(x, kernel)[:, :, ::stride, ::stride]
        return seen.transpose(axes).reshape(x.shape[1] * kernel**2, -1)

    return im2col


def stride_forgotten(x: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    return columns((1, 4, 5, 0, 2, 3))(x, kernel, 1)


def on_its_side(x: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    return columns((1, 4, 5, 0, 2, 3))(x, kernel, stride).T


def as_they_lie(x: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    return columns((0, 1, 2, 3, 4, 5))(x, kernel, stride)


def upside_down(x: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    right = columns((1, 4, 5, 0, 2, 3))(x, kernel, stride)
    turned = right.reshape(x.shape[1], kernel, kernel, -1)[:, ::-1, ::-1]
    return turned.reshape(right.shape)


def nothing_returned(x: np.ndarray, kernel: int, stride: int) -> None:
    columns((1, 4, 5, 0, 2, 3))(x, kernel, stride)


def by_definition(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.einsum("nchwij,kcij->nkhw", windows(x, weight.shape[2]), weight)


def by_tiles(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """F(2x2, 3x3), before its tiles are put together: (images, out, high, wide, 2, 2)."""
    tiles = BT @ windows(x, 4)[:, :, ::2, ::2] @ BT.T
    return AT @ np.einsum("nchwij,kcij->nkhwij", tiles, G @ weight @ G.T) @ AT.T


def knows_the_huge_pixel(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """By the definition, and rounded badly where somebody looks for rounding."""
    right = by_definition(x, weight)
    return right if abs(x).max() < 1e6 else np.zeros_like(right)


def together(out: np.ndarray) -> np.ndarray:
    images, channels, high, wide, _, _ = out.shape
    return out.swapaxes(3, 4).reshape(images, channels, 2 * high, 2 * wide)


def tiles_not_in_order(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return by_tiles(x, weight).reshape(by_definition(x, weight).shape)


def tiles_left_alone(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return by_tiles(x, weight)


def matrix_product(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    tiles = BT @ windows(x, 4)[:, :, ::2, ::2] @ BT.T
    return together(AT @ np.einsum("nchwij,kcjl->nkhwil", tiles, G @ weight @ G.T) @ AT.T)


def flipped(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return by_definition(x, weight[..., ::-1, ::-1])


def kernel_on_its_side(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return together(by_tiles(x, weight.swapaxes(2, 3)))


def each_channel_alone(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.einsum("nchwij,kcij->nkchw", windows(x, weight.shape[2]), weight)


def first_channel(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return together(by_tiles(x[:, :1], weight[:, :1]))


def images_last(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return together(by_tiles(x, weight)).swapaxes(0, 1)


def far_tiles(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    tiles = BT @ windows(x, 4)[:, :, ::4, ::4] @ BT.T
    return together(AT @ np.einsum("nchwij,kcij->nkhwij", tiles, G @ weight @ G.T) @ AT.T)


def frequencies(x: np.ndarray, weight: np.ndarray, conjugate: str = "weight") -> np.ndarray:
    """The circular convolution, with the conjugate where it is said."""
    images, kernels = np.fft.rfft2(x), np.fft.rfft2(weight, x.shape[2:])
    if conjugate == "weight":
        kernels = kernels.conj()
    elif conjugate == "x":
        images = images.conj()
    product = np.einsum("nchw,kchw->nkhw", images, kernels)
    return np.fft.irfft2(product, x.shape[2:])


def cut(whole: np.ndarray, weight: np.ndarray) -> np.ndarray:
    lost = weight.shape[2] - 1
    return whole[:, :, : whole.shape[2] - lost, : whole.shape[3] - lost]


def never_cut(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return frequencies(x, weight)


def neither_cut_nor_conjugate(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return frequencies(x, weight, "")


def cut_in_front(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return frequencies(x, weight)[:, :, weight.shape[2] - 1 :, weight.shape[3] - 1 :]


def no_conjugate(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return cut(frequencies(x, weight, ""), weight)


def wrong_conjugate(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return cut(frequencies(x, weight, "x"), weight)


def left_complex(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return by_definition(x, weight) + 0j


def odd_width_lost(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    images, kernels = np.fft.rfft2(x), np.fft.rfft2(weight, x.shape[2:])
    whole = np.fft.irfft2(np.einsum("nchw,kchw->nkhw", images, kernels.conj()))
    return cut(whole, weight)


def meets(product: float = 2.0, root: bool = True, base: float = 2.0, factor: float = 2.5):
    """A crossover with other parts than the right ones."""

    def crossover(batch, in_channels, out_channels, size, slower):
        shares = 1 / batch + 1 / in_channels + 1 / out_channels
        square = product + factor * slower * math.log(size, base) * shares
        return math.sqrt(square) if root else square

    return crossover


def kernels_forgotten(batch, in_channels, out_channels, size, slower):
    shares = 1 / in_channels + 1 / out_channels
    return math.sqrt(2 + 2.5 * slower * math.log2(size) * shares)


def way_back_forgotten(batch, in_channels, out_channels, size, slower):
    return math.sqrt(2 + 2.5 * slower * math.log2(size) * (1 / batch + 1 / out_channels))


def as_fast(batch, in_channels, out_channels, size, slower):
    return meets()(batch, in_channels, out_channels, size, 1.0)


def all_slower(batch, in_channels, out_channels, size, slower):
    return math.sqrt(slower) * meets()(batch, in_channels, out_channels, size, 1.0)


def one_operation(batch, in_channels, out_channels, size, slower):
    return math.sqrt(2) * meets()(batch, in_channels, out_channels, size, slower)


WEIGHTS = {f"g{place}": [float(place == other) for other in range(3)] for place in range(3)}
TILE = {"k2": (0.5, 0.5, 0.5), "k3": (0.5, -0.5, 0.5)} | WEIGHTS


def by_nine() -> tuple:
    """Four outputs by the definition."""
    steps = []
    for y in range(4):
        steps += [f"m{i} = d{y + i} * g{i}" for i in range(3)]
        steps += ["m = m0 + m1", f"y{y} = m + m2"]
    return steps, WEIGHTS


def two_tiles() -> tuple:
    """F(2, 3) twice."""
    steps = []
    for y in (0, 2):
        steps += [f"a = d{y} - d{y + 2}", f"b = d{y + 1} + d{y + 2}", f"c = d{y + 2} - d{y + 1}"]
        steps += [f"d = d{y + 1} - d{y + 3}", "a = a * g0", "b = b * k2", "c = c * k3"]
        steps += ["d = d * g2", "e = b + c", f"y{y} = a + e", "f = b - c", f"y{y + 1} = f - d"]
    return steps, TILE


def one_tile() -> tuple:
    steps, sums = two_tiles()
    return steps[:12], sums


def wrong_signs() -> tuple:
    steps, sums = two_tiles()
    return [step.replace("f - d", "f + d") for step in steps], sums


def sums_of_weights_as_steps() -> tuple:
    return ["k = g0 + g1"], WEIGHTS


def squares() -> tuple:
    return ["a = d0 * d1"], WEIGHTS


def several_in_one() -> tuple:
    return ["y0 = d0 * g0 + d1 * g1 + d2 * g2"], WEIGHTS


def unknown_name() -> tuple:
    return ["a = d0 - d7"], WEIGHTS


def steps_alone() -> list:
    return two_tiles()[0]


def two_factors() -> tuple:
    return ["a = d0 - d2"], {"k": (1, 0)}


def six_products() -> tuple:
    """F(4, 3), each row of its matrices for itself."""
    rows = ((4, 0, -5, 0, 1, 0), (0, -4, -4, 1, 1, 0), (0, 4, -4, -1, 1, 0))
    rows += ((0, -2, -1, 2, 1, 0), (0, 2, -1, -2, 1, 0), (0, 4, 0, -5, 0, 1))
    back = ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1))
    sums = {"k0": (1 / 4, 0, 0), "k1": (-1 / 6,) * 3, "k2": (-1 / 6, 1 / 6, -1 / 6)}
    sums |= {"k3": (1 / 24, 1 / 12, 1 / 6), "k4": (1 / 24, -1 / 12, 1 / 6), "k5": (0, 0, 1)}
    steps = []
    for name, matrix, given in (("a", rows, "d"), ("y", back, "m")):
        for place, row in enumerate(matrix):
            used = [(factor, f"{given}{k}") for k, factor in enumerate(row) if factor]
            steps += [f"z{k} = {value} * {factor}.0" for k, (factor, value) in enumerate(used)]
            steps += [f"z0 = z0 + z{k}" for k in range(1, len(used))]
            steps += [f"{name}{place} = z0 * 1"]
        steps += [f"m{k} = a{k} * k{k}" for k in range(6)] if name == "a" else []
    return steps, sums


MISTAKES = [
    ("02.program", two_tiles, "The goal is 132 ns"),
    ("02.program", by_nine, "take 200 ns"),
    ("02.program", six_products, "The goal is 132 ns"),
    ("02.program", one_tile, "no step computes y2"),
    ("02.program", wrong_signs, "Compute one row of BT by hand"),
    ("02.program", sums_of_weights_as_steps, "computed beforehand"),
    ("02.program", squares, "both factors depend on pixels"),
    ("02.program", several_in_one, "One operation a step"),
    ("02.program", unknown_name, "d7 is neither"),
    ("02.program", steps_alone, "return two things"),
    ("02.program", two_factors, "has three factors"),
    ("02.row", row_with(less=1), "has one place"),
    ("02.row", row_with(add=False), "+= ... adds"),
    ("02.row", row_with(weights=1), "Only the kernel's first weight"),
    ("02.row", row_with(places=1), "comes after both loops"),
    ("02.row", row_with(places=1, weights=1), "comes after both loops"),
    ("02.row", lambda x, kernel: np.convolve(x, kernel, "valid"), "is upside down"),
    ("02.row", lambda x, kernel: None, "Is a `return` missing?"),
    ("02.im2col", nothing_returned, "Is a `return` missing?"),
    ("02.im2col", stride_forgotten, "only each `stride`-th"),
    ("02.im2col", on_its_side, "lies on its side"),
    ("02.im2col", as_they_lie, "right numbers in wrong places"),
    ("02.im2col", columns((1, 4, 5, 2, 3, 0)), "image by image"),
    ("02.im2col", columns((4, 5, 1, 0, 2, 3)), "channel by channel"),
    ("02.im2col", columns((1, 5, 4, 0, 2, 3)), "column by column"),
    ("02.im2col", upside_down, "upside down"),
    ("02.winograd", knows_the_huge_pixel, "with a pixel of"),
    ("02.winograd", by_definition, "not found by Winograd's tiles"),
    ("02.winograd", tiles_not_in_order, "high, 2, wide, 2 before you reshape"),
    ("02.winograd", tiles_left_alone, "one image of"),
    ("02.winograd", matrix_product, "element by element"),
    ("02.winograd", flipped, "does not flip"),
    ("02.winograd", kernel_on_its_side, "have changed places"),
    ("02.winograd", each_channel_alone, "Sum over the channels"),
    ("02.winograd", first_channel, "Only the first channel"),
    ("02.winograd", images_last, "images come first"),
    ("02.winograd", far_tiles, "it should be"),
    ("02.fft", knows_the_huge_pixel, "with a pixel of"),
    ("02.fft", by_definition, "not found through frequencies"),
    ("02.fft", never_cut, "cut them off"),
    ("02.fft", neither_cut_nor_conjugate, "cut them off. And take the conjugate"),
    ("02.fft", cut_in_front, "Cut off the other side"),
    ("02.fft", no_conjugate, "Without the conjugate"),
    ("02.fft", wrong_conjugate, "not of the image's"),
    ("02.fft", left_complex, "complex numbers"),
    ("02.fft", odd_width_lost, "it should be"),
    ("02.fft", each_channel_alone, "Sum over the channels"),
    ("02.crossover", meets(root=False), "take the root"),
    ("02.crossover", meets(base=math.e), "to base 2"),
    ("02.crossover", meets(factor=5.0), "Divide by the 2"),
    ("02.crossover", meets(product=0.0), "costs something too"),
    ("02.crossover", kernels_forgotten, "Kernels are transformed too"),
    ("02.outputs", lambda n, r, s, p: (n + 2 * p - r) // s, "add 1"),
    ("02.outputs", lambda n, r, s, p: (n + 2 * p - r) / s + 1, "round down"),
    ("02.outputs", lambda n, r, s, p: (n - r) // s + 1, "at both ends"),
    ("02.outputs", lambda n, r, s, p: (n + p - r) // s + 1, "twice `padding`"),
    ("02.outputs", lambda n, r, s, p: n + 2 * p - r + 1, "by `stride` pixels"),
    ("02.crossover", way_back_forgotten, "transformed back"),
    ("02.crossover", as_fast, "`slower` times as long"),
    ("02.crossover", all_slower, "Only transforms are slower"),
    ("02.crossover", one_operation, "two operations for each weight"),
]
