"""A room with nbgrader's exchange: learners who fetch, hand in and get back, each in a folder."""

import json
from pathlib import Path

from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import (
    ExchangeFetchAssignment,
    ExchangeFetchFeedback,
    ExchangeSubmit,
)
from traitlets.config import Config


class Learner:
    """What somebody does with nbgrader's buttons."""

    def __init__(self, name, home, exchange):
        self.name = name
        self.home = Path(home)
        self.home.mkdir(parents=True)
        self._exchange = exchange

    def _do(self, command, assignment):
        config = Config()
        config.Exchange.root = str(self._exchange)
        config.Exchange.cache = str(self.home / ".cache")
        config.Exchange.assignment_dir = str(self.home)
        config.CourseDirectory.course_id = "ddl-teach"
        config.CourseDirectory.student_id = self.name
        config.CourseDirectory.assignment_id = assignment
        course = CourseDirectory(config=config)
        authenticator = Authenticator(config=config)
        command(coursedir=course, authenticator=authenticator, config=config).start()

    def fetch(self, assignment):
        self._do(ExchangeFetchAssignment, assignment)

    def hand_in(self, assignment, answers):
        """Write these sources into the cells of these ids, and submit."""
        (path,) = (self.home / assignment).glob("*.ipynb")
        notebook = json.loads(path.read_text())
        for cell in notebook["cells"]:
            cell["source"] = answers.get(cell["id"], cell["source"])
        path.write_text(json.dumps(notebook))
        self._do(ExchangeSubmit, assignment)

    def feedback(self, assignment):
        """The page that belongs to the newest submission; None where there is none yet."""
        self._do(ExchangeFetchFeedback, assignment)
        pages = sorted((self.home / assignment / "feedback").glob("*/*.html"))
        handed_in = sorted((self.home / ".cache" / "ddl-teach").glob(f"*+{assignment}+*"))
        newest = handed_in[-1].name.rpartition("+")[2]
        return pages[-1].read_text() if pages and pages[-1].parent.name == newest else None
