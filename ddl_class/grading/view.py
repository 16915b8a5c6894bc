"""Which files a submission sees: Python with its packages, and of the project what is on the list.

The project's files are those of the folder it runs from, if that is a clone, and those that the
record of each installation names. An installation that was made from a folder or an archive of
this machine says where: this is hidden too.
"""

import json
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.inside import landlock
from ddl_class.grading.inside.project import DISTRIBUTION, ROOT, SHOWN, top_level

SYSTEM = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
PREFIXES = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
LIBRARIES = tuple(map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")))

NO_RECORD = """\
{folder} holds ddl_teach among other packages, without the record of its files that pip makes. So
nobody can say which files must be hidden from submissions, and nothing is graded.

What to do: install it with pip, or grade from a clone of the repository."""


def files_seen(hidden: Iterable[Path]) -> dict[str, list[str]]:
    """Paths for the walls: `shown` without `masked`. For Landlock the same as what is `readable`,
    and the folders that are readable in `parts`."""
    listed = [str(ROOT / name) for name in SHOWN]
    paths = [path for path in (*SYSTEM, *PREFIXES, *LIBRARIES, *listed) if os.path.lexists(path)]
    paths += [os.path.realpath(path) for path in paths]
    shown = [
        path
        for path in dict.fromkeys(paths)
        if not any(path.startswith(other + "/") for other in paths if not os.path.islink(other))
    ]
    masked = [str(path) for one in _project() for path in _off_the_list(one, {*map(Path, paths)})]
    masked += [str(Path(path).resolve()) for path in hidden]
    masked += list(_by_other_names(masked, shown))
    masked = list(dict.fromkeys(masked))
    allowed = [pair for path in shown for pair in landlock.without(path, masked)]
    return {
        "shown": shown,
        "masked": masked,
        "readable": [path for path, whole in allowed if whole],
        "parts": [path for path, whole in allowed if not whole],
    }


def _project() -> Iterator[Path]:
    """The project's files and folders on this machine, as far as anything says where they are."""
    sites = [*site.getsitepackages([*PREFIXES]), *filter(None, LIBRARIES)]
    folders = dict.fromkeys(os.path.realpath(path) for path in (*sites, *sys.path, str(ROOT)))
    recorded = set()
    for found in metadata.distributions(name=DISTRIBUTION, path=list(folders)):
        brought = [path.parent.resolve() / path.name for path in top_level(found).values()]
        recorded.update(brought)
        yield from brought
        origin = json.loads(found.read_text("direct_url.json") or "{}").get("url", "")
        if origin.startswith("file:"):
            yield Path(unquote(urlsplit(origin).path)).resolve()
    if ROOT / Path(SHOWN[0]).parts[0] in recorded:
        return
    if str(ROOT) in map(os.path.realpath, sites):
        raise Mistake(NO_RECORD.format(folder=ROOT))
    yield from ROOT.iterdir()


def _off_the_list(path: Path, kept: set[Path]) -> Iterator[Path]:
    """`path`, or what is in it beside that which is kept."""
    if path in kept or not os.path.lexists(path):
        return
    if any(path in one.parents for one in kept):
        for inner in path.iterdir():
            yield from _off_the_list(inner, kept)
    else:
        yield path


def _by_other_names(masked: Iterable[str], shown: Iterable[str]) -> Iterator[str]:
    """The names that masked files have where what is shown is reached through a link."""
    for path in shown:
        real = os.path.realpath(path)
        if real != path and not os.path.islink(path):
            yield from (path + mask[len(real) :] for mask in masked if mask.startswith(real + "/"))
