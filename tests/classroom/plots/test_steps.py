"""The steps of a collective in words, as they are read out, and as the player shows them."""

import numpy as np

from ddl_class.plots.steps import DrawnStep, RecordedSteps, StepMessage, in_words


def ring(ranks):
    """A ring's steps, counted by hand."""
    held = np.zeros((ranks, ranks, ranks), int)
    everybody = np.arange(ranks)
    held[everybody, :, everybody] = 1
    steps = [DrawnStep((), held.copy())]
    messages = tuple(StepMessage(rank, (rank + 1) % ranks, 8) for rank in range(ranks))
    for number in range(2 * ranks - 2):
        before = held.copy()
        for rank in range(ranks):
            chunk = (rank - number - 1) % ranks
            came = before[(rank - 1) % ranks, chunk]
            held[rank, chunk] = came + before[rank, chunk] * (number < ranks - 1)
        steps.append(DrawnStep(messages, held.copy()))
    return RecordedSteps("ring", steps)


def test_words_describe_each_step():
    words = in_words(ring(3))
    assert len(words) == 5
    assert words[1] == (
        "Step 1 of 4: 3 messages of 8 B each, rank 0 to rank 1, rank 1 to rank 2, rank 2 to "
        "rank 0. 0 of 9 chunks are finished."
    )
    assert words[4].endswith("9 of 9 chunks are finished.")
