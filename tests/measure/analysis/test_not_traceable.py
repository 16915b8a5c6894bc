"""Where a graph comes to an end, the error says in which line, and why."""

import pytest
import torch
from modules import Chooses, Counts, Picks, Wrong
from torch import nn

from ddl_measure.analysis import NotTraceable, analyse

ON_NUMBERS = "depends on numbers, and there are none here, only shapes"


@pytest.mark.parametrize(
    ("module", "line", "reason"),
    [
        (Chooses(), "if y.sum() > 0:", ON_NUMBERS),
        (Counts(), "return torch.zeros(int(x.max().item())) + x.sum()", ON_NUMBERS),
        (Picks(), "return x[x > 0].sum()", ON_NUMBERS),
        (nn.Sequential(nn.ReLU(), Wrong()), "return self.layer(x.t())", "same reduction dim"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_the_error_names_the_line(module, line, reason, capfd):
    with pytest.raises(NotTraceable) as error:
        analyse(module, torch.ones(2, 3))
    text = str(error.value)
    assert text.startswith(f"{type(module).__name__}: the graph ends in modules.py, line ")
    assert f"\n    {line}\n" in text
    assert reason in text
    assert len(text.splitlines()) == 3
    # The error is all that one reads.
    assert capfd.readouterr() == ("", "")


def test_a_part_of_the_graph_that_hangs_on_a_number_is_named():
    class Either(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    with pytest.raises(NotTraceable, match=r"cond.* holds graphs of its own"):
        analyse(Either(), torch.ones(3))


def test_wrong_inputs_are_told_as_torch_tells_them():
    with pytest.raises(NotTraceable, match="missing a required argument: 'input'"):
        analyse(nn.Linear(3, 2))
    with pytest.raises(NotTraceable, match="must have same reduction dim"):
        analyse(nn.Linear(3, 2), torch.ones(1, 4))
