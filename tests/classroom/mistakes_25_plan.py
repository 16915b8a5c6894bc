"""The usual mistakes with a plan in unit 25, and words of the message for each."""


def held(first=3, second=2, third=1):
    """Right, but for the stages from which weights, gradients and states are divided."""

    def bytes_held(weights, stage, sharers):
        parts = zip((2, 4, 12), (first, second, third), strict=True)
        return weights * sum(each / (sharers if stage >= least else 1) for each, least in parts)

    return bytes_held


def kept(split=True, flying=min):
    def bytes_kept(layers, width, words, tensor, stages, micro_batches):
        each = 34 * words * width * layers / stages / (tensor if split else 1)
        return each * flying(micro_batches, stages)

    return bytes_kept


def grids(most=8, wrong=(), skip=0):
    def fitting(gpus, heads, layers, batch):
        fit = [
            (gpus // t // p, t, p) for t in range(1, most + 1) for p in range(1, layers + 1)
            if gpus % (t * p) == 0 and not heads % t and not layers % p
            and not batch % (gpus // t // p)
        ]  # fmt: skip
        return [*fit[skip:], *wrong]

    return fitting


def plan(device="H100", gpus=1024, **fields):
    return lambda words, days: (device, gpus, fields)


FITS = {"data": 32, "tensor": 2, "pipeline": 16, "schedule": "1F1B", "sharding": 1}
DEAR = {"data": 256, "tensor": 2, "context": 2, "sharding": 3, "recompute": "norms"}
MISTAKES = [
    ("25.states", lambda weights, stage, sharers: None, "yours returns None"),
    ("25.states", held(0, 0, 0), "divides all three"),
    ("25.states", held(9, 9, 9), "Nothing is divided"),
    ("25.states", held(1, 2, 3), "the other way round"),
    ("25.states", lambda weights, stage, sharers: 7.0, "2 bytes of weight"),
    ("25.activations", lambda *given: None, "yours returns None"),
    ("25.activations", kept(flying=lambda turns, stages: turns), "that is GPipe"),
    ("25.activations", kept(flying=lambda turns, stages: 1), "one micro-batch"),
    ("25.activations", kept(split=False), "divided by `tensor`"),
    ("25.activations", lambda *given: 7.0, "times micro-batches in flight"),
    ("25.bubble", lambda stages, turns, pieces: None, "yours returns None"),
    ("25.bubble", lambda stages, turns, pieces: (stages - 1) / pieces / turns, "over the work"),
    (
        "25.bubble",
        lambda stages, turns, pieces: (stages - 1) / (turns + stages - 1),
        "a v-th of each",
    ),
    (
        "25.bubble",
        lambda stages, turns, pieces: stages / pieces / (turns + stages / pieces),
        "A rank waits for the others",
    ),
    ("25.bubble", lambda stages, turns, pieces: 0.123, "waiting and work together"),
    ("25.mfu", lambda *given: None, "yours returns None"),
    ("25.mfu", lambda n, d, t, c, f: 2 * n * d / (t * c * f), "twice the operations"),
    ("25.mfu", lambda n, d, t, c, f: 8 * n * d / (t * c * f), "hardware's utilisation"),
    ("25.mfu", lambda n, d, t, c, f: 6 * n * d / (t * f), "peak of one GPU"),
    ("25.mfu", lambda n, d, t, c, f: t * c * f / (6 * n * d), "above the line"),
    ("25.mfu", lambda n, d, t, c, f: 0.5, "6 N D over T C F"),
    ("25.grids", lambda gpus, heads, layers, batch: None, "return a list of grids"),
    ("25.grids", grids(most=12), "You have a wider one"),
    ("25.grids", grids(wrong=[(7, 1, 1)]), "does not divide"),
    ("25.grids", grids(skip=1), "is missing"),
    ("25.plan", lambda words, days: None, "yours returns None"),
    ("25.plan", plan("abacus"), "no price for abacus"),
    ("25.plan", plan(gpus=1020), "1020 GPUs cannot be had"),
    ("25.plan", plan(width=3), "names of the fields"),
    ("25.plan", plan(data=32), "The plan has 32 ranks"),
    ("25.plan", plan("A100", precision="fp8", **FITS), "no products in 8 bits"),
    ("25.plan", plan(data=1024), "does not divide the batch"),
    ("25.plan", plan(data=512, tensor=2), "more than it has"),
    ("25.plan", plan(**DEAR), "It is ready in time, but costs"),
    (
        "25.plan",
        plan(gpus=256, data=8, tensor=2, pipeline=16, sharding=1, recompute="full"),
        "More GPUs, or faster ones",
    ),
]
