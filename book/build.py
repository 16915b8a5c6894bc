"""Sphinx makes the book, and each of its warnings ends the build.

Nothing is loaded from a network, neither now nor by those who read: the theme brings its own
style, letters are the reader's, formulas are MathML.
"""

from __future__ import annotations

import io
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from book.code_index import Index
from slides.chromium import OPTIONS

STYLE = Path(__file__).resolve().parent / "style.css"
SETTINGS = {
    "project": "Distributed deep learning",
    "html_title": "Distributed deep learning",
    "language": "en",
    "extensions": ["myst_parser", "book.formulas"],
    "html_math_renderer": "mathml",
    "myst_enable_extensions": ["dollarmath"],
    "myst_heading_anchors": 4,
    "myst_dmath_double_inline": True,
    "nitpicky": True,
    "smartquotes": False,  # the texts have the quotation marks that they want
    "html_theme": "furo",
    "html_theme_options": {"navigation_with_keys": True},
    "html_css_files": ["style.css"],
    "html_static_path": ["_static"],
    "html_show_copyright": False,
    "epub_show_urls": "no",
    "epub_copyright": "The authors of ddl-teach; see LICENSE",
    "version": metadata.version("ddl-teach"),
    "html_copy_source": False,
    "html_show_sphinx": False,
    "pygments_style": "a11y-high-contrast-light",
    "python_maximum_signature_line_length": 80,
    "toc_object_entries": False,
    "add_module_names": False,
}


class BookError(Exception):
    """What Sphinx warned of."""


def build(source: Path, out: Path, index: Index, search: bool = True, form: str = "html") -> None:
    """Make the pages in `out` from the Markdown in `source`, with an index to search in; or, in
    another form that Sphinx knows, an "epub" or all on one page, "singlehtml"."""
    static = source / "_static"
    static.mkdir(exist_ok=True)
    (static / STYLE.name).write_text(STYLE.read_text())
    warnings = io.StringIO()
    with patch_docutils(), docutils_namespace():
        app = Sphinx(source, None, out, out.with_name("doctrees"), form, SETTINGS,
                     status=None, warning=warnings, freshenv=False)  # fmt: skip
        app.connect("doctree-read", _names_of_types(index))
        app.builder.search = search
        app.build()
    if found := warnings.getvalue().strip():
        raise BookError(found)


def printed(page: Path, chromium: str) -> Path:
    """The page on paper, beside it, as a PDF."""
    paper = page.with_name("book.pdf")
    with tempfile.TemporaryDirectory() as profile:
        options = [option for option in OPTIONS if "remote" not in option]
        options += [f"--user-data-dir={profile}", "--no-pdf-header-footer"]
        done = subprocess.run(
            [chromium, *options, f"--print-to-pdf={paper}", page.as_uri()],
            capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode or not paper.exists():
        raise BookError(f"Chromium printed no PDF:\n{done.stderr}")
    return paper


def _names_of_types(index: Index) -> Any:
    """In signatures types stand as their files call them: follow the imports of that file.

    What is not ours (Python's own, numpy's, a type variable) is no link.
    """

    def resolve(_: Sphinx, document: nodes.document) -> None:
        for node in list(document.findall(pending_xref)):
            if node.get("refdomain") == "py":
                full = index.resolve(node.get("py:module") or "", node["reftarget"])
                if full is None:
                    node.replace_self(node.children)
                else:
                    node["reftarget"], node["refspecific"] = full, False

    return resolve
