"""One of each compressor, and the sizes of their messages by formulas of the papers' own."""

import math

from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.compression.deep_gradient_compression import DeepGradientCompression
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.nonzero import NonZero
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.powersgd import PowerSGD
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.random_k import RandomK
from ddl_teach.training.compression.terngrad import TernGrad
from ddl_teach.training.compression.threshold import Threshold
from ddl_teach.training.compression.top_k import TopK


def kept(size, density):
    return min(size, max(1, round(size * density)))


def top_bits(size, density):
    return kept(size, density) * (32 + max(1, math.ceil(math.log2(max(2, size)))))


def square(size, rank):
    rows = math.ceil(math.sqrt(size))
    columns = math.ceil(size / rows)
    thin = rank * (rows + columns)
    return 4 * (thin if thin < rows * columns else size)


# (compressor, the bytes of a message for n float32 numbers; None where they vary)
FORMS = [
    (Dense(), lambda n: 4 * n),
    (Half(), lambda n: 2 * n),
    (OneBit(bucket=64), lambda n: math.ceil(n / 8) + 8 * math.ceil(n / 64)),
    (QSGD(levels=1, bucket=32), lambda n: math.ceil(2 * n / 8) + 4 * math.ceil(n / 32)),
    (QSGD(levels=7, bucket=16), lambda n: math.ceil(4 * n / 8) + 4 * math.ceil(n / 16)),
    (QSGD(levels=255, bucket=512), lambda n: math.ceil(9 * n / 8) + 4 * math.ceil(n / 512)),
    (QSGD(levels=2, bucket=32, coding="elias"), None),
    (Blocks(bucket=16), lambda n: n + 4 * math.ceil(n / 16)),
    (Blocks(levels=7), lambda n: math.ceil(n / 2) + 4 * math.ceil(n / 64)),
    (TernGrad(bucket=32), lambda n: math.ceil(n / 5) + 4 * math.ceil(n / 32)),
    (TernGrad(bucket=64, clip=None), lambda n: math.ceil(n / 5) + 4 * math.ceil(n / 64)),
    (TopK(0.1), lambda n: math.ceil(top_bits(n, 0.1) / 8)),
    (TopK(1.0), lambda n: math.ceil(top_bits(n, 1.0) / 8)),
    (RandomK(0.1), lambda n: 4 + 4 * kept(n, 0.1)),
    (RandomK(0.25, scaled=False), lambda n: 4 + 4 * kept(n, 0.25)),
    (Threshold(0.5), None),
    (NonZero(), None),
    (PowerSGD(rank=2), lambda n: square(n, 2)),
    (DeepGradientCompression(0.05), lambda n: math.ceil(top_bits(n, 0.05) / 8)),
    (DeepGradientCompression(0.05, warm_up=8), None),
]  # fmt: skip
WITH_FEEDBACK = [
    Feedback(compressor)
    for compressor in (
        Half(), OneBit(bucket=64), QSGD(levels=7, bucket=16), TopK(0.1), Threshold(0.5),
        RandomK(0.25, scaled=False), PowerSGD(rank=2),
    )
]  # fmt: skip
