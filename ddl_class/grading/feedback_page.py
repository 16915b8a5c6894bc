"""The page that a learner gets back: exercises by their names, long lines wrapped, formulas as
MathML. It loads nothing, so it looks the same without a network.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert.exporters import HTMLExporter
from traitlets.config import Config

from ddl_class.exercises.registry import find_exercise

# Code first: a dollar in it begins no formula.
FORMULA = re.compile(
    r"(?P<code>```.*?```|`[^`]*`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>([^$`\n]|\n(?!\n))+)\$",
    re.DOTALL,
)


class FeedbackPage(HTMLExporter):
    """nbconvert's exporter with formulas as MathML; it needs `look_of_pages`."""

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """The text as HTML. Markdown would read what stands in a formula."""
        formulas: list[str] = []

        def put_by(match: re.Match[str]) -> str:
            if match["code"]:
                return match[0]
            formulas.append(as_mathml(match["block"] or match["inline"], bool(match["block"])))
            return f"\ue000{len(formulas) - 1}\ue001"

        html: str = super().markdown2html(context, FORMULA.sub(put_by, source))
        return re.sub("\ue000(\\d+)\ue001", lambda match: formulas[int(match[1])], html)


def as_mathml(latex: str, block: bool = False) -> str:
    """A formula as browsers draw it; in TeX's letters where it cannot be read."""
    try:
        return str(convert(latex, display="block" if block else "inline"))
    except Exception:  # of a parser that has no kind of error of its own
        return f"<code>{escape(latex)}</code>"


def look_of_pages(config: Config) -> None:
    """Have nbconvert use the course's page, and trust nothing of what learners have written."""
    config.HTMLExporter.template_name = "page"
    config.HTMLExporter.extra_template_basedirs = [str(Path(__file__).parent)]
    config.HTMLExporter.exclude_anchor_links = True
    config.HTMLExporter.filters = {
        "exercise": lambda name: escape(f"{name}: {find_exercise(name).title}")
    }
    config.HTMLExporter.sanitize_html = True
