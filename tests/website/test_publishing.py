"""The workflow that publishes the site says what this checkout can do, and links are looked at."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from website import edition, landing, links, pyodide
from website.__main__ import build
from website.tools import BuildError

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "site.yml").read_text())
[JOB] = WORKFLOW["jobs"].values()
COMMANDS = "\n".join(step.get("run", "") for step in JOB["steps"])


def test_the_workflow_builds_what_it_publishes():
    (words,) = re.findall(r"\.venv/bin/python -m website (.*)", COMMANDS)
    asked = subprocess.run(
        [sys.executable, "-m", "website", "--help"], capture_output=True, text=True, cwd=ROOT
    )
    assert set(re.findall(r"--\w+", words)) <= set(re.findall(r"--\w+", asked.stdout))
    uploads = [step["with"]["path"] for step in JOB["steps"] if "upload" in step.get("uses", "")]
    assert uploads == [words.split("--out ")[1]]
    assert WORKFLOW["permissions"]["pages"] == "write"
    assert WORKFLOW["permissions"]["id-token"] == "write"
    assert JOB["steps"][-1]["id"] in JOB["environment"]["url"]


def test_the_workflow_makes_the_environment_as_the_tests_do():
    hosted = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    known = {step.get("uses") for job in hosted.values() for step in job["steps"]}
    own = [step["uses"] for step in JOB["steps"] if "uses" in step]
    assert set(own[:2]) <= known
    assert "python3 start.py test --version" in COMMANDS


def test_the_workflow_fetches_the_pyodide_that_is_tested():
    (line,) = re.findall(r"version=\$\(python3 -c '(.*)'\)", COMMANDS)
    printed = subprocess.run(
        [sys.executable, "-c", line], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout.strip()
    asked = json.loads((ROOT / "tests" / "website" / "package.json").read_text())
    assert printed == asked["dependencies"]["pyodide"]


def page(folder, name, body):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<html lang='en'><body id='top'>{body}</body></html>")


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<a href='book/a.html#top'>a</a>", None),
        ("<a href='https://a.org'>a</a><img src='data:image/png;base64,A' alt='a'>", None),
        ("<a href='try/lab/index.html?path=00_tour.ipynb'>a</a>", None),
        ("<a href='book/b.html'>a</a>", "leads to no file"),
        ("<a href='book/a.html#bottom'>a</a>", "leads to no place on its page"),
        ("<a href='try/lab/index.html?path=99.ipynb'>a</a>", "there is no notebook 99.ipynb"),
        ("<script src='https://a.org/a.js'></script>", "is loaded from another site"),
        ("<img src='picture.png' alt='a'>", "leads to no file"),
    ],
)
def test_links_that_lead_nowhere_are_named(tmp_path, body, fault):
    page(tmp_path, "index.html", body)
    page(tmp_path, "book/a.html", "")
    page(tmp_path, "try/lab/index.html", "<a href='no_matter.html'>a</a>")
    (tmp_path / "try" / "files").mkdir()
    (tmp_path / "try" / "files" / "00_tour.ipynb").write_text("{}")
    dead = links.dead(tmp_path)
    assert len(dead) == (fault is not None)
    assert all(line.startswith("index.html: ") and fault in line for line in dead)


def test_a_distribution_that_lacks_something_is_named(tmp_path):
    with pytest.raises(BuildError, match="does not know numpy"):
        pyodide.needed({}, ["numpy"])
    chosen = pyodide.needed({"a": {"depends": ["B_c"]}, "b-c": {"depends": ["a"]}}, ["a"])
    assert sorted(chosen) == ["a", "b-c"]
    (tmp_path / pyodide.LOCK).write_text(
        json.dumps(
            {"packages": {name: {"depends": [], "file_name": name} for name in pyodide.ASKED}}
        )
    )
    with pytest.raises(BuildError, match=r"has no pyodide\.mjs"):
        pyodide.install(tmp_path, [], tmp_path / "out")


def test_the_tour_comes_first_and_cells_that_need_more_may_fail():
    assert set(edition.names()[:2]) == {"00_tour", "00_puzzle"}
    content = json.loads(edition.for_browsers(ROOT / "notebooks" / "05_messages.ipynb"))
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            needs = "torch" in "".join(cell["source"])
            assert not needs or "raises-exception" in cell["metadata"]["tags"]


def test_a_folder_that_is_no_site_is_not_built_into(tmp_path):
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(BuildError, match="not empty, and no site"):
        build(tmp_path / "pyodide", tmp_path, unexecuted=True)
    assert (tmp_path / "precious").read_text() == "mine"


def test_the_first_page_leads_to_the_book_for_readers_and_paper_where_it_is_there(tmp_path):
    landing.write(tmp_path)
    assert "EPUB" not in (tmp_path / "index.html").read_text()
    page(tmp_path, "book/book.epub", "")
    page(tmp_path, "book/book.pdf", "")
    landing.write(tmp_path)
    links_there = 'or as <a href="book/book.epub">EPUB</a> or <a href="book/book.pdf">PDF</a>'
    assert links_there in (tmp_path / "index.html").read_text()


def test_a_link_that_leaves_the_site_is_dead(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "out.md").write_text("there")
    (site / "index.html").write_text('<html lang="en"><a href="../out.md">out</a></html>')
    assert links.dead(site) == ["index.html: ../out.md leads to no file"]
