"""A folder that nbgrader can work in: to hand notebooks out, and to grade them.

    source/06_allreduce/06_allreduce.ipynb     with solutions and hidden tests: for teachers only
    release/06_allreduce/06_allreduce.ipynb    what is handed out, as in the course's own folder
    gradebook.db                               nbgrader's: which cells give how many points
    nbgrader_config.py                         its settings, for whoever uses its commands here

nbgrader itself makes the released notebooks from the others and writes the gradebook.
"""

import logging
import os
import sysconfig
from pathlib import Path

from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from ddl_class.commands.mistake import Mistake
from ddl_class.release import release

SOURCES = Path(__file__).resolve().parents[2] / "notebooks" / "source"
SETTINGS = f'''"""nbgrader's settings for this course."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "ddl-teach"
c.ClearSolutions.code_stub = {{"python": "{release.STUB}"}}
'''


def hand_out(folder: Path, sources: Path = SOURCES) -> list[Path]:
    """Make or renew the folder, from one source or all in a folder; returns what to hand out."""
    paths = sorted(sources.glob("*.py")) if sources.is_dir() else [sources]
    exercises = [path for path in paths if release.solved(path) is not None]
    if not exercises:
        raise Mistake(
            f"There are no sources with exercises in {sources}: this works in a clone of the "
            "course, not where only the package was installed."
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nbgrader_config.py").write_text(SETTINGS, encoding="utf-8")
    nbgrader = NbGraderAPI(config=settings(folder))
    nbgrader.log.setLevel(logging.ERROR)
    # nbgrader calls a program of its own environment, which may not have been activated.
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), before])
    try:
        for source in exercises:
            path = folder / "source" / source.stem / f"{source.stem}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(release.text(release.instructors(source)), encoding="utf-8")
            outcome = nbgrader.generate_assignment(source.stem, force=True, create=True)
            if not outcome["success"]:
                raise Mistake(f"nbgrader refuses {source.stem}:\n{outcome['log']}")
    finally:
        os.environ["PATH"] = before
    return [folder / "release" / one.stem / f"{one.stem}.ipynb" for one in exercises]


def settings(folder: Path) -> Config:
    """nbgrader's settings for this folder."""
    config = Config()
    config.CourseDirectory.root = str(folder.resolve())
    config.CourseDirectory.course_id = "ddl-teach"
    config.ClearSolutions.code_stub = {"python": release.STUB}
    return config
