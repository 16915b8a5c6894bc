import numpy as np
import pytest

from ddl_teach.search.space import Choice, LogUniform, Space, UniformNumber, WholeNumber
from ddl_teach.training.consistency.states import pack, unpack

SPACE = Space(
    {
        "rate": LogUniform(1e-3, 1),
        "momentum": UniformNumber(0, 0.99),
        "hidden": Choice(16, 32),
        "layers": WholeNumber(1, 3),
    }
)


def test_settings_depend_on_seed_and_number_alone():
    forwards = [SPACE.sample(5, number) for number in range(300)]
    turned = Space(dict(reversed(SPACE.axes.items())))
    assert [turned.sample(5, number) for number in reversed(range(300))][::-1] == forwards
    assert [SPACE.sample(6, number) for number in range(300)] != forwards
    columns = {name: [settings[name] for settings in forwards] for name in SPACE.axes}
    assert len(set(columns["rate"])) == 300
    assert set(columns["hidden"]) == {16, 32}
    assert set(columns["layers"]) == {1, 2, 3}
    assert max(columns["momentum"]) > 0.9
    # Every decade alike: a third of the rates lies in each of three.
    decades = np.histogram(np.log10(columns["rate"]), bins=3, range=(-3, 0))[0]
    assert decades.sum() == 300
    assert decades.min() > 70


def test_perturbed_settings_are_near_and_within_the_bounds():
    for number in range(100):
        settings = SPACE.sample(0, number)
        moved = SPACE.perturb(settings, 7, number)
        assert moved == SPACE.perturb(settings, 7, number)
        assert moved["hidden"] == settings["hidden"]
        for name in ("rate", "momentum"):
            axis, value = SPACE.axes[name], settings[name]
            allowed = [min(max(value * by, axis.low), axis.high) for by in (0.8, 1.2)]
            assert moved[name] in allowed
        assert abs(moved["layers"] - settings["layers"]) <= 1
    ways = {tuple(SPACE.perturb(SPACE.sample(0, 0), 7, n).values()) for n in range(50)}
    assert len(ways) >= 6  # rate and momentum, up or down each, and the layers


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: UniformNumber(1, 1), "low must be less than high"),
        (lambda: UniformNumber(0, float("nan")), "finite"),
        (lambda: LogUniform(0, 1), "no logarithm"),
        (lambda: WholeNumber(0, 1.5), "whole numbers"),
        (lambda: UniformNumber("0", 1), "plain number"),
        (lambda: Choice(), "things to choose from"),
        (lambda: Space({}), "give names and axes"),
        (lambda: Space({"rate": 0.1}), "'rate' must be UniformNumber"),
        (lambda: Space({"rate": LogUniform}), "'rate' must be UniformNumber"),
    ],
    ids=range(9),
)
def test_what_is_no_space_is_refused(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words):
        wrong()


def test_states_come_back_bit_for_bit():
    numbers = np.array([np.nan, -0.0, np.inf, 5e-324])
    state = {
        "weights": numbers, "half": numbers.astype(np.float16), "matrix": np.eye(3, order="F"),
        "none": np.empty(0, np.float32), "bits": np.array([True, False]), "file": np.arange(3),
        "step": 3, "loss": 0.1, "done": False, "name": "é", "allow_pickle": 2**60,
    }  # fmt: skip
    back = unpack(pack(state))
    assert list(back) == list(state)
    for name, value in state.items():
        assert type(back[name]) is type(value)
        if isinstance(value, np.ndarray):
            assert back[name].dtype == value.dtype
            assert back[name].shape == value.shape
            assert back[name].tobytes() == value.tobytes()
        else:
            assert back[name] == value
    assert np.array_equal(pack(back), pack(state))


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ([1, 2], "not list"),
        ({"it": [1]}, "'it' is list"),
        ({"it": np.float64(1)}, "take float"),
        ({"it": np.array([None])}, "'it' is ndarray"),
        ({"it": 2**80}, "'it' is int"),
        ({3: 1}, "3 is int"),
    ],
)
def test_what_cannot_be_kept_and_sent_is_refused(state, words):
    with pytest.raises(TypeError, match=words):
        pack(state)
