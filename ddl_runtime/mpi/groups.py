"""Other communicators of real ranks: MPI's own."""

from collections.abc import Callable
from typing import Any

from ddl_runtime.core.parts import PointToPoint
from ddl_runtime.core.request import Request
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.diagnosis import Diagnosis
from ddl_runtime.mpi.requests import BackgroundRequest
from ddl_runtime.mpi.wire import MPI


class Groups:
    """Communicators that are made from one; `make` makes each of its context."""

    def __init__(
        self, context: MPIContext, diagnosis: Diagnosis, make: Callable[[MPIContext], Any]
    ) -> None:
        self._context = context
        self._diagnosis = diagnosis
        self._make = make

    def meeting(self, label: str) -> PointToPoint:
        messages: PointToPoint = self.aside(label).point_to_point
        return messages

    def aside(self, label: str) -> Any:
        return self._make(self._context.of(self._context.mpi, label))

    def duplicate(self) -> Any:
        return self._make(self._context.of(self._context.mpi.Dup()))

    def split(self, colour: int | None, key: int, meet: Callable[[], None]) -> Any:
        meet()
        # MPI's split cannot be interrupted, but all ranks have just met: none keeps it waiting.
        mpi: Any = self._context.mpi.Split(MPI.UNDEFINED if colour is None else colour, key)
        return None if mpi == MPI.COMM_NULL else self._make(self._context.of(mpi))

    def start(self, place: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> Request:
        return BackgroundRequest(self._diagnosis, function, (place, *args))
