"""The book: all of it is built, every link and formula holds, nothing in it can drift."""

import importlib
import inspect
import math
import re
import zipfile
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from book import faults, glossary, papers, plain_files, reference, tree, units
from book.build import BookError, build, printed
from book.code_index import Index
from book.docstrings import to_markdown
from book.formulas import latex
from book.outputs import as_html
from slides.chromium import find_chromium

ROOT = Path(__file__).resolve().parents[1]
SHORT = "shown_here"  # a notebook of a few cells
NOTEBOOK = """\
# %% [markdown]
# # A notebook
#
# Unit 06 has $x^2$.

# %%
1 + 1

# %% name="06.ring" tags=["answer"]
def ring(comm, x):
    ### BEGIN SOLUTION
    pass
    ### END SOLUTION

# %% name="06.ring" tags=["check"]
print("checked")
### BEGIN HIDDEN TESTS
print("hidden")
### END HIDDEN TESTS

# %%
{last}
"""
# What notebooks print in bold and is no word to look up, only loud.
LOUD = {
    *"added copied fixed free not suspects sum target columns rows core cache data tensor".split(),
    *"context plan question choices point tied simulated real stalls cudnn mu-cudnn".split(),
    *("skip the step", "run ahead", "bucket by bucket", "injected delay", "no bubble at all"),
    *("staleness-aware steps", "validation part", "test part", "a decision tree"),
    *("a small network", "torch on processors"),
}


@pytest.fixture(scope="module")
def index():
    return Index()


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The whole book, without outputs, and of the reference one room: the others are alike."""
    folder, some = tmp_path_factory.mktemp("book"), Index(rooms=("ddl_teach/collectives",))
    tree.write(tree.pages(some, (), None), folder / "source")
    build(folder / "source", folder / "html", some, search=False)
    return folder / "html"


@pytest.fixture(scope="module")
def cited():
    listed = papers.read()
    return listed, papers.citations(listed, papers.texts())


def test_pages_have_no_faults(book):
    assert faults.faults(book) == []
    assert faults.external(faults.read(book).values())


def test_every_chapter_is_there(book):
    for paths in tree.chapters().values():
        for path in paths:
            assert (book / f"{tree.page_name(path)}.html").is_file()


def test_every_public_name_stands_in_the_reference(index):
    """Python's own view of the modules, not the one that the pages are made from."""
    pages = reference.pages(index)
    told = {
        (module, name)
        for page in pages.values()
        for part in page.split("{py:module} ")[1:]
        for module in [part.split()[0]]
        for name in re.findall(r"^`{6}\{py:(?:function|class|data)\} (\w+)", part, re.MULTILINE)
    }
    for name in index.modules:
        if not name.startswith(("ddl_teach.theory", "ddl_teach.training", "ddl_runtime")):
            continue  # to import all would take longer than all else here
        module = importlib.import_module(name)
        for public, thing in vars(module).items():
            ours = inspect.isfunction(thing) or inspect.isclass(thing)
            if ours and thing.__module__ == name and not public.startswith("_"):
                assert (name, public) in told or thing.__qualname__ != public, f"{name}.{public}"


def test_no_name_stands_twice_in_the_reference(index):
    names = [
        f"{module.name}.{name}"
        for module in index.modules.values()
        for thing in module.names
        for name in [thing.name, *(f"{thing.name}.{member.name}" for member in thing.members)]
    ]
    assert len(names) > 1000
    assert [name for name, often in Counter(names).items() if often > 1] == []


def test_every_plain_file_has_its_product(index):
    named = {name.rpartition(".")[2] for name in index.modules if plain_files.is_plain(name)}
    assert named <= plain_files.PRODUCTS.keys()
    assert {f"ddl_teach.{name}" for name in plain_files.PRODUCTS.values()} <= set(index.modules)


def test_the_reference_leads_from_plain_files_to_products_and_back(index):
    plain, product = (
        reference.page(index, f"ddl_teach.{room}") for room in ("plain", "collectives")
    )
    assert "For use: {py:obj}`collectives.ring <ddl_teach.collectives.ring>`" in plain
    assert "incoming += arriving" in plain
    there = "{py:obj}`plain.ring_allreduce <ddl_teach.plain.ring_allreduce>`"
    assert f"On one screen: {there}" in product
    assert "incoming += arriving" not in product


def test_the_reference_is_linked_where_it_is_cited(book):
    page = (book / "papers.html").read_text()
    assert 'href="reference/ddl_teach.collectives.html#module-ddl_teach.collectives.ring"' in page


@pytest.fixture
def two_pages(tmp_path, index):
    (tmp_path / "source").mkdir()
    toc = "# A book\n\n```{toctree}\nunit\n```\n"
    (tmp_path / "source" / "index.md").write_text(toc)
    (tmp_path / "source" / "unit.md").write_text("# 06 A ring\n\nIt takes $2 (P-1)$ steps.\n")
    return tmp_path


def test_the_book_for_electronic_readers(two_pages, index):
    build(two_pages / "source", two_pages / "epub", index, form="epub")
    [book] = (two_pages / "epub").glob("*.epub")
    with zipfile.ZipFile(book) as files:
        assert files.namelist()[0] == "mimetype"  # as the format wants
        assert "<math" in files.read("unit.xhtml").decode()
        assert "06 A ring" in files.read("nav.xhtml").decode()


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium or Chrome is here")
@pytest.mark.browser
def test_the_book_on_paper(two_pages, index):
    build(two_pages / "source", two_pages / "one_page", index, form="singlehtml")
    paper = printed(two_pages / "one_page" / "index.html", find_chromium())
    assert paper.read_bytes().startswith(b"%PDF")
    assert paper.stat().st_size > 10_000


def test_units_stand_in_parts_guides_after_them_and_answers_last():
    parts = list(tree.chapters())
    assert parts.index("Part 1: Operators") < parts.index("Part 7: Today") < parts.index("Guides")
    assert parts[-1] == "Answers"
    names = [path.stem for path in tree.chapters()["Start"]]
    assert names[0] == "00_tour"


def test_faults_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<html><h1 id="here">A</h1><h3>B</h3><img src="data:image/png;base64,AA">'
        '<a href="#nowhere">1</a><a href="b.html">2</a><a href="https://no host/">3</a>'
        '<a href="#here">4</a><a href="https://example.org/x">5</a>'
        '<script src="https://example.org/x.js"></script></html>'
    )
    (tmp_path / "a.css").write_text("@font-face {src: url(//example.org/font.woff)}")
    found = "\n".join(faults.faults(tmp_path))
    for words in (
        "#nowhere leads to no place", "b.html leads to no file", "https://no host/ is no address",
        "x.js is loaded from a network", "font.woff is loaded", "no words", "level 1 comes one",
        "its language",
    ):  # fmt: skip
        assert words in found
    assert len(found.splitlines()) == 8


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path, index):
    pages = {"index": "# A book\n\n[A page](nowhere.md) and {term}`a word`.\n"}
    tree.write(pages, tmp_path / "source")
    with pytest.raises(BookError, match=r"nowhere[\s\S]*a word"):
        build(tmp_path / "source", tmp_path / "html", index, search=False)


def test_a_page_that_is_no_more_leaves_nothing_behind(tmp_path):
    tree.write({"index": "# A book\n", "units/old": "# A page\n"}, tmp_path / "source")
    made = [tmp_path / "html/units/old.html", tmp_path / "epub/units/old.xhtml"]
    kept = tmp_path / "html" / "index.html"
    for page in (*made, kept):
        page.parent.mkdir(parents=True, exist_ok=True)
        page.touch()
    tree.write({"index": "# A book\n"}, tmp_path / "source")
    assert [page.exists() for page in (*made, kept)] == [False, False, True]


def notebook(folder, last):
    source = folder / f"{SHORT}.py"
    source.write_text(NOTEBOOK.format(last=last))
    return source


def test_a_notebook_is_run_once_and_read_with_its_outputs(tmp_path, monkeypatch):
    source, kept = notebook(tmp_path, "'é' * 3"), tmp_path / "kept"
    told = units.chapter(source, kept)
    for words in ("[Unit 06](06_allreduce.md)", "$x^2$", ">2</pre>", "ééé", ">checked</pre>"):
        assert words in told
    for words in ("hidden", "### BEGIN"):
        assert words not in told
    assert told.index("NotImplementedError") < told.index("One solution") < told.index("pass")

    monkeypatch.setattr(units, "_execute", None)  # which cannot be called
    assert units.chapter(source, kept) == told
    assert ">2</pre>" not in units.chapter(source, None)


def test_a_cell_that_fails_is_named(tmp_path):
    source = notebook(tmp_path, "print('before')\n1 / 0")
    with pytest.raises(units.CellError, match=rf"{SHORT}, cell 4:[\s\S]*1 / 0[\s\S]*ZeroDiv"):
        units.chapter(source, tmp_path / "kept")
    assert not list(tmp_path.glob("kept/*"))


def test_outputs_need_no_kernel_and_keep_their_words():
    def shown(**data):
        metadata = {"image/png": {"alt": "A <ring>"}}
        output = {"output_type": "display_data", "data": data, "metadata": metadata}
        return as_html(nbformat.from_dict(output))

    assert 'alt="A &lt;ring&gt;"' in shown(**{"image/png": "AAAA\n"})
    assert shown(**{"text/html": "<b>x</b>", "text/plain": "x"}).count("<b>x</b>") == 1
    assert "control" in shown(**{"application/vnd.jupyter.widget-view+json": {}, "text/plain": ""})
    stream = {"output_type": "stream", "name": "stdout", "text": "\x1b[31m<a>\x1b[0m\n"}
    assert as_html(stream) == '<pre class="text" tabindex="0">&lt;a&gt;</pre>'


def test_docstrings_keep_what_is_laid_out():
    text = to_markdown(
        "A *star* and `ring.allreduce` of `x`:\n\n    x_i  <-  W x\n\n"
        ">>> f(1)\n2\n\n- one_a\n- two",
        {"ring.allreduce": "full.name"}.get,
    )
    table = "===== ====\na     b c\nlong_ name d\n===== ====\n\nAfter."
    assert to_markdown(table, {}.get) == (
        "```text\n===== ====\na     b c\nlong_ name d\n===== ====\n```\n\nAfter."
    )
    assert text == (
        "A \\*star\\* and {py:obj}`ring.allreduce <full.name>` of `x`:\n\n```text\nx_i  <-  W x\n"
        "```\n\n```pycon\n>>> f(1)\n2\n```\n\n- one\\_a\n- two"
    )


def test_every_citation_is_in_the_index_and_every_paper_is_cited(cited):
    listed, found = cited
    unknown = [str(one) for one in found if not any(one.means(paper) for paper in listed)]
    assert unknown == [], "mend the citation, or add its paper to book/papers.txt"
    uncited = [paper for paper in listed if not any(one.means(paper) for one in found)]
    assert uncited == []
    assert len({paper.anchor for paper in listed}) == len(listed)
    assert all(paper.authors and paper.title and paper.where for paper in listed)
    assert all(re.fullmatch(r"(19|20)\d\d", paper.year) for paper in listed)


def test_papers_stand_under_the_letters_of_their_names(cited):
    listed, found = cited
    letters = [paper.letter for paper in listed]
    assert letters == sorted(letters)
    headings = re.findall(r"^## (.+)$", papers.page(listed, found, ()), re.MULTILINE)
    assert headings == sorted(set(letters))
    assert papers.Paper("D. De Sensi et al.", "GPUs", "SC", "2024").letter == "D"
    assert papers.Paper("MPI Forum", "Kinds", "a document", "2024").letter == "M"


def test_wrong_citations_are_noticed():
    listed = [papers.Paper("A. Alpha and B. Beta", "On rings of ranks", "SC", "2019")]

    def unknown(text):
        found = papers.citations(listed, [("here", text)])
        assert found
        return [one for one in found if not one.means(listed[0])]

    for right in ('"On rings of ranks", SC 2019', '"On rings", 2019', "Alpha and Beta (2019)",
                  "Alpha et al., 2019"):  # fmt: skip
        assert unknown(right) == []
    for wrong in ('"On rings of ranks", SC 2018', '"On trees", SC 2019', "Beta et al. 2019",
                  "Alpha and Gamma, 2019", "Alpha 2018"):  # fmt: skip
        assert unknown(wrong) != []


TERMS = glossary.read()


@pytest.mark.parametrize(
    "term", [t for t in TERMS if t.theory], ids=lambda term: term.name.replace(" ", "_")
)
def test_formulas_are_those_of_theory(term):
    for values, formula, theory in glossary.both_ways(term):
        assert math.isclose(formula, theory, rel_tol=term.within), values


IN_BOOK = {path.resolve() for paths in tree.chapters().values() for path in paths}


@pytest.mark.parametrize(
    "page", sorted(path for path in IN_BOOK if path.suffix == ".md"), ids=lambda page: page.name
)
def test_a_page_links_to_no_page_that_the_book_lacks(page):
    """Sphinx would take it for a page that nobody reaches, and end."""
    links = re.findall(r"\]\((?!http)([\w./-]+\.md)[)#]", page.read_text())
    there = {(page.parent / link).resolve() for link in links}
    assert there - IN_BOOK == set()


def test_every_word_that_units_introduce_is_in_the_glossary():
    """A word in bold, of one to three words that begin small, is a word of the course."""
    known = {word.lower() for term in TERMS for word in term.words}
    texts = {path.stem: path.read_text() for path in units.SOURCES.glob("*.py")}
    for name, text in texts.items():
        prose = "\n".join(line[1:].strip() for line in text.splitlines() if line[:1] == "#")
        for bold in re.findall(r"\*\*([a-z][\w -]*(?:\n[\w -]+)?)\*\*", prose):
            word = " ".join(bold.split())
            assert word.lower() in known | LOUD or word.count(" ") > 2, f"{name}: {word}"
    for term in TERMS:
        assert glossary.taught_in(term, texts), f"no unit speaks of {term.name}"
        assert term.meaning[:1].isupper()
        assert term.meaning.endswith((".", ":", "this one does, the ring's")) or term.drawn


@pytest.mark.parametrize(
    ("expression", "drawn"),
    {
        "2 * (P - 1) / P * n": r"\frac{2 \left(P - 1\right)}{P} n",
        "(1 - k / N) ** P": r"\left(1 - \frac{k}{N}\right)^{P}",
        "a - (b - c)": r"a - \left(b - c\right)",
        "ceil(log2(P)) * L": r"\lceil \log_2 P \rceil L",
        "n * 2": r"n \cdot 2",
    }.items(),
)
def test_formulas_are_drawn_as_they_stand(expression, drawn):
    assert latex(expression) == drawn


def test_what_is_no_formula_is_not_drawn():
    with pytest.raises(ValueError, match="no formula is drawn"):
        latex("[1]")
