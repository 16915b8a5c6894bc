"""A submission sees of the project what is on one list, from a clone and from an installed wheel.

A package that nobody has told the grader of, with a solution in it, stands beside `ddl_teach`.
"""

import json
import re
from pathlib import Path

import look_around
import pytest
from behind_walls import told_by
from wheels import build, copy_project, fresh_environment, install, open_to_all

from ddl_class.commands.mistake import Mistake
from ddl_class.grading import sandbox
from ddl_class.grading.inside import landlock, project
from ddl_class.grading.sandbox import BOTH_WALLS, SECOND_WALL

pytestmark = pytest.mark.slow

SECRET = "SECRET = 'the solution'\n"
BORROWS = """\
import ddl_more.unit_06

def ring_allreduce(comm, x):
    ddl_more.unit_06.ring_allreduce(comm, x)
"""
HIDDEN = (  # beside the package, files in its folder, modules
    "ddl_more/__init__.py",
    "ddl_more/unit_06.py",
    "ddl_class/cli.py",
    "ddl_teach/collectives/ring.py",
    "ddl_class/exercises/unit_06/__init__.py",
)


def add_a_package(folder):
    """A package of the project that the grader does not know by name."""
    (folder / "ddl_more").mkdir()
    for name in ("__init__.py", "unit_06.py"):
        (folder / "ddl_more" / name).write_text(SECRET)
    settings = folder / "pyproject.toml"
    settings.write_text(re.sub("include = .*", 'include = ["ddl_*"]', settings.read_text()))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """An environment with the wheel of a project that has one package more."""
    folder = tmp_path_factory.mktemp("wheel")
    open_to_all(folder)
    copy_project(folder)
    add_a_package(folder)
    python, site = fresh_environment(folder / "fresh")
    install(build(folder), python)
    (site / "neighbour.py").write_text(SECRET)
    (folder / "link").symlink_to(folder / "fresh")
    return python, site


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone inside of what is shown: where pip puts one, in an environment's own folder."""
    folder = tmp_path_factory.mktemp("clone")
    open_to_all(folder)
    python, site = fresh_environment(folder / "fresh")
    root = folder / "fresh" / "src" / "ddl-teach"
    root.mkdir(parents=True)
    copy_project(root)
    add_a_package(root)
    (root / "notebooks").mkdir()
    (root / "notebooks" / "solved.py").write_text(SECRET)
    (site / "clone.pth").write_text(str(root))
    (site / "neighbour.py").write_text(SECRET)
    return python, root


def look(python, walls, desk, root, more=()):
    """What a submission sees of the project in `root`, and what answers earn."""
    files = [*HIDDEN, *more]
    folders = {str(Path(name).parent) for name in files} - {"ddl_teach"}
    task = {
        "files": [str(root / name) for name in (*files, "ddl_runtime/records/ledger.py")],
        "folders": [str(root / name) for name in (*folders, "ddl_runtime/records")],
        "modules": ["ddl_more", "ddl_more.unit_06", "ddl_runtime.topologies.torus", "neighbour"],
        "borrows": BORROWS,
    }
    place = str(desk / "desk")
    return told_by(python, look_around.__file__, walls, place, input=json.dumps(task), cwd=desk)


def check(told, root):
    assert Path(told["package"]).resolve() == (root / "ddl_teach" / "__init__.py").resolve()
    shown = "ddl_runtime/records"
    read = {name.partition(f"{root}/")[2]: text for name, text in told["files"].items() if text}
    assert list(read) == [f"{shown}/ledger.py"]
    listed = [name.partition(f"{root}/")[2] for name, names in told["folders"].items() if names]
    assert listed == [shown]
    imported = [name for name, file in told["modules"].items() if file]
    assert imported == ["ddl_runtime.topologies.torus", "neighbour"]
    points = {name: earned for name, (earned, _) in told["earned"].items()}
    assert points == {"right": 2, "borrows": 0, "nothing": 0}
    assert "calls ddl_more.unit_06.ring_allreduce, and the exer" in told["earned"]["borrows"][1]


@pytest.mark.long
@pytest.mark.parametrize("walls", [BOTH_WALLS, SECOND_WALL])
@pytest.mark.parametrize("by", ["fresh", "link"])
def test_of_an_installed_wheel_only_the_list_is_seen(wheel, walls, by, tmp_path):
    """Also by another name of the same folder, and through `lib64`, which is a link to `lib`."""
    python, site = wheel
    top = python.parents[1]
    (installed,) = site.glob("ddl_teach-*.dist-info")
    root = top.parent / by / site.relative_to(top)
    told = look(
        top.parent / by / "bin" / "python", walls, tmp_path, root, [installed.name + "/RECORD"]
    )
    check(told, root)


@pytest.mark.slow
@pytest.mark.parametrize("walls", [BOTH_WALLS, SECOND_WALL])
@pytest.mark.sampled(2)
def test_of_a_clone_only_the_list_is_seen(clone, walls, tmp_path):
    python, root = clone
    check(look(python, walls, tmp_path, root, ["notebooks/solved.py"]), root)


@pytest.mark.parametrize(
    ("module", "hidden"),
    {
        "ddl_teach": False,
        "ddl_teach.comm": False,
        "ddl_runtime.devices.cuda": False,
        "ddl_teach.communal": True,
        "ddl_teach.collectives.ring.allreduce": True,
        "ddl_more": True,
        "ddl_more.unit_06": True,
        "numpy.linalg": False,
    }.items(),
)
def test_what_is_not_on_the_list_is_hidden_whatever_package_it_is_in(module, hidden, monkeypatch):
    monkeypatch.setattr(project, "packages", lambda: {"ddl_teach", "ddl_runtime", "ddl_more"})
    assert project.is_hidden(module) == hidden
    assert project.is_library(module) == hidden


def test_a_link_to_what_holds_something_masked_opens_nothing(tmp_path):
    for name in ("lib/numpy", "lib/judges"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lib64").symlink_to("lib")
    (tmp_path / "other").symlink_to("lib/numpy")
    masked = [str(tmp_path / "lib" / "judges")]
    readable = [path for path, whole in landlock.without(str(tmp_path), masked) if whole]
    assert readable == [str(tmp_path / name) for name in ("lib/numpy", "other")]


@pytest.mark.parametrize("what", ["folder", "archive.whl"])
def test_where_an_installation_came_from_is_hidden(what, tmp_path, monkeypatch):
    source = tmp_path / "my sources" / what
    source.mkdir(parents=True)
    info = tmp_path / "site" / "ddl_teach-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: ddl-teach\nVersion: 1\n")
    (info / "RECORD").write_text(f"{info.name}/RECORD,,\n")
    (info / "direct_url.json").write_text(json.dumps({"url": source.as_uri()}))
    monkeypatch.syspath_prepend(info.parent)
    assert {str(source), str(info)} <= set(sandbox.files_seen([])["masked"])


def test_among_other_packages_without_a_record_nothing_is_graded(tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "ROOT", tmp_path)
    monkeypatch.setattr(sandbox, "LIBRARIES", (str(tmp_path),))
    with pytest.raises(Mistake, match=f"{re.escape(str(tmp_path))} holds ddl_teach among other"):
        sandbox.files_seen([])
