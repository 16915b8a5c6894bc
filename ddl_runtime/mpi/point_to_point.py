"""How real ranks exchange messages: over MPI.

Every verb takes arrays in the host's memory straight to MPI. Arrays on a device take the ways of
`device_protocols`, and so does whatever must not overtake one of them.
"""

import time
from functools import partial
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Array, describe
from ddl_runtime.core.parts import Request
from ddl_runtime.devices import device_of
from ddl_runtime.diagnosis.deadlock import any_of
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.delivery import Delivery
from ddl_runtime.mpi.device_protocols import begin_receive, begin_send
from ddl_runtime.mpi.diagnosis import explain
from ddl_runtime.mpi.requests import MPIRequest
from ddl_runtime.mpi.wire import MPI


class PointToPoint:
    """The messages of one real rank on one communicator."""

    def __init__(self, context: MPIContext) -> None:
        self.context = context
        self.delivery = Delivery(context)

    def isend(self, x: Array, to: int, tag: int = 0) -> Request:
        if self.context.lines or (x.__class__ is not np.ndarray and device_of(x) is not None):
            return begin_send(self.delivery, "isend", x, to, tag)
        handle = self.delivery.begin_send(x, to, tag)
        return MPIRequest(self.delivery, handle, "isend", x, to, tag)

    def irecv(self, x: Array, source: int, tag: int = 0) -> Request:
        if self.context.lines or (x.__class__ is not np.ndarray and device_of(x) is not None):
            return begin_receive(self.delivery, "irecv", x, source, tag)
        handle = self.delivery.begin_receive(x, source, tag)
        return MPIRequest(self.delivery, handle, "irecv", x, source, tag)

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        begun = time.perf_counter()
        if self.context.lines or (x.__class__ is not np.ndarray and device_of(x) is not None):
            begin_send(self.delivery, "send", x, to, tag).wait()
            return
        self._finish_send(self.delivery.begin_send(x, to, tag), begun, x, to, tag)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        begun = time.perf_counter()
        if self.context.lines or (x.__class__ is not np.ndarray and device_of(x) is not None):
            return begin_receive(self.delivery, "recv", x, source, tag).wait()
        handle = self.delivery.begin_receive(x, source, tag)
        return self._finish_receive(handle, begun, "recv", x, source, tag)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        begun = time.perf_counter()
        context, delivery = self.context, self.delivery
        describe(x)  # what is refused must be so before the receive is posted
        if context.lines or (
            not x.__class__ is y.__class__ is np.ndarray
            and (device_of(x) is not None or device_of(y) is not None)
        ):
            incoming = begin_receive(delivery, "sendrecv", y, source, tag)
            outgoing = begin_send(delivery, "send", x, to, tag)
            came_from = incoming.wait()
            outgoing.wait()
            return came_from
        receiving = delivery.begin_receive(y, source, tag)
        # To oneself the receive is on record before the send, which looks for it.
        request = None
        if to == context.rank:
            request = MPIRequest(delivery, receiving, "sendrecv", y, source, tag)
        sending = delivery.begin_send(x, to, tag)
        sent = sending.Test()  # short messages leave at once
        if sent:
            delivery.sent(begun, x, to, tag)
        if request is None:
            came_from = self._finish_receive(receiving, begun, "sendrecv", y, source, tag)
        else:
            came_from = request.wait()
        if not sent:
            self._finish_send(sending, begun, x, to, tag)
        return came_from

    def _finish_send(self, handle: MPI.Request, begun: float, x: Array, to: int, tag: int) -> None:
        try:
            self.context.polling.wait(handle.Test, explain, self.context, "send", x, to, tag)
        except BaseException:
            # MPI still reads the memory of x.
            MPIRequest(self.delivery, handle, "isend", x, to, tag)
            raise
        self.delivery.sent(begun, x, to, tag)

    def _finish_receive(
        self, handle: MPI.Request, begun: float, call: str, x: Array, source: int, tag: int
    ) -> int:
        context, delivery = self.context, self.delivery
        try:
            context.polling.wait(
                partial(handle.Test, context.status), explain, context, call, x, source, tag
            )
        except MPI.Exception as error:
            raise delivery.misfit(error, x, source, tag) from None
        except BaseException:
            MPIRequest(delivery, handle, "irecv", x, source, tag)  # MPI still writes into x
            raise
        came_from = delivery.received(begun, x, source, tag)
        if came_from is None:
            chunks = delivery.chunks_into(x, tag)
            return MPIRequest(delivery, chunks, call, x, source, tag).wait()
        return came_from

    def wait_any(self, requests: list[Any]) -> Any:
        done: list[Any] = []

        def any_finished() -> bool:
            done.extend(next(([request] for request in requests if request.finished()), []))
            return bool(done)

        self.context.polling.wait(
            any_finished, lambda: any_of([request.explain() for request in requests])
        )
        return done[0]
