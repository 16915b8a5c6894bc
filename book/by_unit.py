"""The index by unit: what each asks, its exercises with their minutes, its words, its papers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from book.glossary import Term, taught_in
from book.papers import Citation, Paper
from ddl_class.exercises.registry import units


def page(
    texts: Mapping[str, str],
    terms: Iterable[Term],
    papers: Iterable[Paper],
    cited: Iterable[Citation],
) -> str:
    """One section for each notebook, by its name."""
    terms, papers, cited = list(terms), list(papers), list(cited)
    parts = ["# Index by unit", "What each asks and has you write, its words, its papers."]
    for name, text in texts.items():
        title = re.search(r"^# # (.+)$", text, re.MULTILINE)[1]
        parts.append(f"## {name[:2]} {title}")
        question = re.search(r"\*\*([^*]+\?)\*\*", text.replace("\n# ", " "))
        opening = f"{question[1]} " if question else ""
        parts.append(f"{opening}[Read it](notebooks/{name}.md).")
        parts.extend(_exercises(text))
        words = [term.name for term in terms if taught_in(term, {name: text})]
        if words:
            linked = " · ".join(f"{{term}}`{word}`" for word in words)
            parts.append(f"*Words:* {linked}")
        if read := sorted(_papers(f"notebooks/source/{name}.py", papers, cited)):
            parts.append("*Papers:* " + " · ".join(read))
    return "\n\n".join(parts) + "\n"


def _exercises(text: str) -> Iterator[str]:
    """Those whose cells the notebook has."""
    here = [
        f"{one.title} ({one.minutes} min)"
        for unit in units()
        for one in unit.exercises
        if f'name="{one.name}"' in text
    ]
    if here:
        yield f"*Exercises:* {' · '.join(here)}"


def _papers(place: str, papers: list[Paper], cited: list[Citation]) -> Iterator[str]:
    here = [one for one in cited if one.place == place]
    for paper in papers:
        if any(one.means(paper) for one in here):
            yield f"[{paper.surnames[0]} {paper.year}](papers.md#{paper.anchor})"
