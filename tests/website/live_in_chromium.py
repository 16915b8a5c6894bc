"""A page of the book with cells that run, as the site has them."""

from website import lab, pages

CODE = '<div class="highlight-python notranslate"><div class="highlight"><pre>'
END = "</pre></div></div>"
PAGE = f"""<html lang="en"><body><h1>A page</h1>
{CODE}import torch{END}
{CODE}from ddl_class import simulate
def square(comm):
    raise NotImplementedError
{END}
<details class="solution"><summary>One solution</summary>
{CODE}from ddl_class import simulate
def square(comm):
    return comm.rank ** 2
{END}</details>
{CODE}print(len("four"))
simulate(square, 4).results{END}
<div class="output" id="recorded"><pre>what was recorded</pre></div>
{CODE}while True: pass{END}
</body></html>"""
CELL = "document.querySelectorAll('.live')[{}]"
BELOW = CELL + ".nextElementSibling.innerText"


def write(site):
    """The page in the folder of a site."""
    path = site / "book" / "notebooks" / "00_tour.html"
    path.parent.mkdir(parents=True)
    path.write_text(pages.live(PAGE, "00_tour"))
    pages.kernel(site / pages.LIVE.name)
    assert (site / lab.FOLDER / "static" / "pyodide" / "pyodide.mjs").is_file()
