"""Why a module has no graph: the line of its own code at which the graph comes to an end."""

import linecache
import os
import re
import traceback

import torch
from torch import fx
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

DATA_DEPENDENT = (
    GuardOnDataDependentSymNode,
    DataDependentOutputException,
    DynamicOutputShapeException,
)
LIBRARIES = (os.path.dirname(torch.__file__), os.path.dirname(os.__file__))
ADVICE = (
    "What happens next depends on numbers, and there are none here, only shapes. Analyse the "
    "parts before and after that line, or pass the choice in as an argument."
)


class NotTraceable(RuntimeError):
    """A module whose graph does not follow from the shapes of its inputs; names the line."""


def story(network: str, error: Exception, refusal: Exception) -> str:
    """Where a module's own code was when its graph came to an end, and why."""
    places = [it for it in _frames(error) if _is_own(it.filename)]
    if not places:
        return f"{network} could not be run on shapes alone: {_first_line(refusal)}"
    return f"{network}{at(places[-1].filename, places[-1].lineno or 0)}\n{_reason(error)}"


def story_of_node(network: str, node: fx.Node, error: Exception) -> str:
    """The same for an operation that is in the graph but can't be run on shapes."""
    found = own_lines(node)
    place = at(*found[-1]) if found else f": the graph ends at {node.target}"
    return f"{network}{place}\n{_reason(error)}"


def at(file: str, line: int) -> str:
    """A line of somebody's code."""
    code = linecache.getline(file, line).strip()
    return f": the graph ends in {os.path.basename(file)}, line {line}:\n    {code}"


def own_lines(node: fx.Node) -> list[tuple[str, int]]:
    """The lines, file and number, through which a node was made and which are not torch's."""
    places = re.findall(r'File "(.*)", line (\d+)', node.meta.get("stack_trace") or "")
    return [(file, int(line)) for file, line in places if _is_own(file)]


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """All calls on the way to an error and to those that led to it."""
    first = error.__cause__ or error.__context__
    return (_frames(first) if first else []) + list(traceback.extract_tb(error.__traceback__))


def _is_own(file: str) -> bool:
    return not file.startswith((*LIBRARIES, os.path.dirname(__file__), "<frozen", "<string>"))


def _reason(error: Exception) -> str:
    if isinstance(error, DATA_DEPENDENT):
        return ADVICE
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
