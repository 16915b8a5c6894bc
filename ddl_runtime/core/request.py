"""What a verb that does not wait gives back."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar


class Request(ABC):
    """A message under way, or a function running in the background."""

    waited: bool  # whether somebody has waited for it

    @abstractmethod
    def wait(self) -> int:
        """Block until done. Returns the rank the message came from (for a send: this rank)."""


R = TypeVar("R", bound=Request)


def not_waited_for(requests: Sequence[R]) -> list[R]:
    """Those that `wait_any` may choose from."""
    still_open = [request for request in requests if not request.waited]
    if not still_open:
        raise ValueError(
            "wait_any: all of these requests have been waited for already"
            if requests
            else "wait_any: the list of requests is empty"
        )
    return still_open
