"""Links inside the site that lead nowhere, and what its pages load from other sites.

The pages of JupyterLite are its own; of them only the notebooks that are linked to are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from book.faults import Seen, inside, read
from website.lab import FOLDER

ELSEWHERE = re.compile(r"(?:[a-z]+:)?//|data:|mailto:")


def dead(site: Path) -> list[str]:
    """Every fault as one line; none if all is well."""
    every = read(site)
    own = {path: seen for path, seen in every.items() if site / FOLDER not in path.parents}
    return sorted(
        f"{path.relative_to(site)}: {fault}"
        for path, seen in own.items()
        for fault in _faults(path, seen, every, site)
    )


def _faults(path: Path, seen: Seen, pages: Mapping[Path, Seen], site: Path) -> Iterator[str]:
    yield from (
        f"{address} is loaded from another site"
        for address in seen.loaded
        if ELSEWHERE.match(address) and not address.startswith("data:")
    )
    for link in {*seen.links, *seen.loaded}:
        if ELSEWHERE.match(link):
            continue
        yield from inside(path, link, pages, site)
        for name in parse_qs(urlsplit(link).query).get("path", []):
            if not (site / FOLDER / "files" / name).is_file():
                yield f"{link}: there is no notebook {name}"
