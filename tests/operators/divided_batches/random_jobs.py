"""Random jobs whose seconds are whole numbers, so that sums are exact whatever their order."""

from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Offer


def random_job(generator, batch=None, methods="abc", sizes=4):
    """A job of any kind: with and without offers of one example, cheap or not, fitting or not."""
    batch = batch or int(generator.integers(1, 17))
    offered = {int(size) for size in generator.integers(1, batch + 1, sizes)}
    if generator.random() < 0.8:
        offered.add(1)
    return DivisibleBatch(
        "layer",
        batch,
        tuple(
            Offer(
                method, size, int(generator.integers(1, 1000)), int(generator.integers(50)) * size
            )
            for method in methods
            for size in sorted(offered)
            if generator.random() < 0.8
        ),
    )


def every_division(job, left=None, among=None):
    """All divisions there are, each once: brute force."""
    left = job.batch if left is None else left
    offers = job.offers if among is None else among
    if left == 0:
        yield ()
    for place, offer in enumerate(offers):
        if offer.size <= left:
            # The order of parts does not matter: whoever is passed over is not taken later.
            for rest in every_division(job, left - offer.size, offers[place:]):
                yield (offer, *rest)
