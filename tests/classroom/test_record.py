"""What a learner has done is kept: beside other kernels, and whatever becomes of the file."""

import json
import multiprocessing

import pytest

from ddl_class.exercises import record
from ddl_class.exercises.check import CheckFailed, check, hint
from ddl_class.exercises.predictions import predict, reveal
from ddl_class.exercises.progress import progress, progress_text, standing, state

pytestmark = pytest.mark.usefixtures("fresh_record")


def count_up(times):
    for _ in range(times):
        with record.changing() as kept:
            known = record.of(kept, "exercises", "06.ring")
            known["tries"] = known.get("tries", 0) + 1


def test_nothing_is_known_of_who_has_done_nothing():
    assert record.read() == {"exercises": {}, "predictions": {}, "reviews": {}}


def test_several_kernels_lose_nothing():
    context = multiprocessing.get_context("fork")
    kernels = [context.Process(target=count_up, args=(25,)) for _ in range(4)]
    for kernel in kernels:
        kernel.start()
    for kernel in kernels:
        kernel.join()
    assert record.read()["exercises"]["06.ring"]["tries"] == 100


@pytest.mark.parametrize(
    "broken", [b"", b"{", b"[]", b"\xff\xfe", b'{"exercises": 3}', b'{"exercises": {"a": 1}}']
)
def test_a_broken_file_is_put_aside(fresh_record, broken):
    fresh_record.mkdir()
    (fresh_record / "progress.json").write_bytes(broken)
    with pytest.warns(UserWarning, match="begins anew"):
        count_up(1)
    assert record.read()["exercises"]["06.ring"]["tries"] == 1
    (aside,) = fresh_record.glob("progress-unreadable-*.json")
    assert aside.read_bytes() == broken


def test_a_folder_that_cannot_be_written_is_only_warned_of(fresh_record):
    fresh_record.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="could not be kept"):
        count_up(1)


def test_a_writing_that_fails_leaves_the_file_as_it_was(fresh_record):
    count_up(1)
    with pytest.raises(TypeError), record.changing() as kept:
        kept["exercises"]["06.ring"]["tries"] = {1, 2}  # JSON knows no sets
    assert json.loads((fresh_record / "progress.json").read_text())["exercises"]["06.ring"] == {
        "tries": 1
    }
    assert {path.name for path in fresh_record.iterdir()} == {"progress.json", "progress.lock"}


def test_the_folder_is_jupyters_own_unless_it_is_moved(fresh_record, monkeypatch):
    assert record.folder() == fresh_record
    monkeypatch.delenv("DDL_TEACH_DATA")
    monkeypatch.setenv("JUPYTER_DATA_DIR", "/somewhere")
    assert str(record.folder()) == "/somewhere/ddl-teach"


# -- hints and predictions ----------------------------------------------------------------------


def test_one_more_hint_each_time(capsys):
    shown = []
    for _ in range(3):
        hint("06.ring")
        shown.append(capsys.readouterr().out.count("Hint "))
    assert shown == [1, 2, 2]
    assert record.read()["exercises"]["06.ring"]["hints"] == 2


def test_the_third_hint_opens_after_two_failed_checks(capsys):
    shown = []
    for _ in range(3):
        for _ in range(2):
            hint("16.feedback")
        shown.append(capsys.readouterr().out)
        with pytest.raises(CheckFailed) as failed:
            check("16.feedback", lambda vector, residual, compress: (vector, residual))
    assert "opens after 2 checks that fail; 0 failed so far." in shown[0]
    assert "opens after 2 checks that fail; 1 failed so far." in shown[1]
    assert ["total - sent" in each for each in shown] == [False, False, True]
    assert "Stuck?" not in str(failed.value)


@pytest.mark.parametrize(
    ("said", "measured", "words"),
    [
        (50_000, 61_300, "within a factor of 2"),
        (5_000, 61_300, "12.3 times too low"),
        (1_000_000, 1_000, "1,000 times too high"),
        (7, 7.0, "exactly right"),
        (0, 7.0, "7 too low"),
    ],
)
def test_a_prediction_is_laid_beside_what_came_out(said, measured, words, capsys):
    predict("06.crossover", said)
    reveal("06.crossover", measured)
    assert words in capsys.readouterr().out
    known = record.read()["predictions"]["06.crossover"]
    assert known.pop("last") <= str(record.today())
    assert known == {"value": said, "found": measured, "kind": "measured"}


def test_without_a_prediction_the_course_goes_on(capsys):
    predict("06.crossover", ...)
    assert "Write a number in place of the dots" in capsys.readouterr().out
    reveal("06.crossover", 61_300)
    assert "You have not said what you expect" in capsys.readouterr().out
    reveal("06.crossover", 61_300)
    assert "You made no prediction; measured 61,300 bytes." in capsys.readouterr().out


# -- progress -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, "not tried"),
        ({"tries": 2}, "tried"),
        ({"tries": 2, "hints": 1}, "hinted"),
        ({"hints": 1}, "hinted"),
        ({"tries": 2, "hints": 1, "solved": True}, "solved"),
        ({"tries": 2, "solved": False}, "tried"),
    ],
)
def test_the_state_of_an_exercise(known, expected):
    assert state(known) == expected


def test_progress_shows_every_exercise(capsys):
    with record.changing() as kept:
        kept["exercises"]["06.rabenseifner"] = {"solved": True}
    tiles = [tile for column in standing() for tile in column.tiles]
    points = sum(tile.points for tile in tiles)
    (solved,) = [tile for tile in tiles if tile.name == "rabenseifner"]
    assert progress_text().count(" points\n") == len(tiles)
    assert f"{solved.points} of {points} points." in progress_text()
    picture = progress()
    assert f"1 of {len(tiles)} exercises solved" in picture.axes[0].get_title(loc="left")
    assert "rabenseifner solved" in picture.alt
