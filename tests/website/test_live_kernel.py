"""What runs the cells of a page of the book, here in this Python: prints, results and figures."""

import subprocess
import sys
from pathlib import Path

import pytest

from book import outputs
from website.pages import LIVE

PROGRAM = """
from kernel import run
print(run("import numpy as np"), end="")
print(run({code!r}))
"""
SIMULATED = (
    "from ddl_class import animate, simulate\nran = simulate(lambda comm: comm.barrier(), 2)\n"
)
SHOWN = {
    "print(1)\n2": ['<pre class="text" tabindex="0">1</pre>', ">2</pre>"],
    SIMULATED + "ran.timeline.plot()": ["data:image/png;base64,", "alt="],
    SIMULATED + "animate(ran)": ['data-part="player"'],
    SIMULATED + "ran.timeline.plot()\nprint(3)": [">3</pre>"],
    "from IPython.display import display\n" + SIMULATED + "display(ran.timeline.plot())": [
        "image/png"
    ],
    "1 / 0": ["ZeroDivisionError"],
}


@pytest.mark.parametrize("code", SHOWN)
def test_a_live_cell_shows_what_its_notebook_shows(code):
    folders = [str(LIVE), str(Path(outputs.__file__).parent)]
    program = f"import sys\nsys.path[:0] = {folders}\n{PROGRAM.format(code=code)}"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert [words for words in SHOWN[code] if words not in ran.stdout] == []
    assert "Out[" not in ran.stdout
