"""The player is a page of its own, and its strip stands in where nothing moves."""

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from ddl_class.plots.steps import (
    DrawnStep,
    RecordedSteps,
    StepMessage,
    StepPlayer,
    in_words,
    player_data,
    plot_steps,
)

pytestmark = pytest.mark.slow


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


def test_a_page_loads_nothing_and_stays_small():
    page = StepPlayer(ring(16)).page()
    assert len(page) < 300_000
    assert not re.search(r"(src|href)=\"(?!data:)|https?:(?!//www\.w3\.org)", page)


def test_two_players_on_one_page_do_not_meet():
    player = StepPlayer(ring(3))
    names = [re.search(r'id="([^"]+)"', player.page())[1] for _ in range(2)]
    assert names[0] != names[1]


def test_the_script_gets_every_step():
    steps = ring(4)
    data = json.loads(json.dumps(player_data(steps)))
    held = [[""] * 4 for _ in range(4)]
    for step, changes in zip(steps.steps, data["changes"], strict=True):
        for rank, chunk, counts in changes:
            held[rank][chunk] = counts
        drawn = [[list(map(int, counts.split(","))) for counts in row] for row in held]
        assert drawn == step.held.tolist()
    assert data["sizes"][-1] == ["48 B"] * 4


def test_words_describe_each_step():
    words = in_words(ring(3))
    assert len(words) == 5
    assert words[1] == (
        "Step 1 of 4: 3 messages of 8 B each, rank 0 to rank 1, rank 1 to rank 2, rank 2 to "
        "rank 0. 0 of 9 chunks are finished."
    )
    assert words[4].endswith("9 of 9 chunks are finished.")


def test_where_no_script_runs_the_strip_stands_with_all_words():
    player = StepPlayer(ring(4))
    bundle = player._repr_mimebundle_()
    assert Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))).width > 800
    assert f'alt="{player.alt}"' in bundle["text/html"]
    assert all(words in bundle["text/plain"] for words in in_words(player.steps))
    assert 'data-part="player" hidden' in bundle["text/html"]


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_the_strip_has_a_panel_for_each_step(ranks):
    steps = ring(ranks)
    picture = plot_steps(steps)
    assert sum(bool(ax.images) for ax in picture.axes) == len(steps.steps)
    assert "whole sum" in picture.alt


def test_wrong_chunks_are_marked():
    steps = ring(3)
    steps.steps[-1].held[1, 2] = (1, 2, 1)
    steps.steps[-1].held[2, 0] = (-1, -1, -1)
    last = plot_steps(steps).axes[len(steps.steps) - 1]
    assert sorted(text.get_text() for text in last.texts) == ["2×", "?"]
