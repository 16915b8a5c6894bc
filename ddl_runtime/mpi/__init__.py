"""The communicator on real ranks, over mpi4py.

A message's way: `communicator` calls `point_to_point`; `delivery` gives the message to MPI, with a
tag that `wire` makes; `polling` waits until MPI is done. What does not wait returns a request of
`requests`. Arrays on a device go through `device_protocols`, long ones in the chunks of `chunked`.
`diagnosis` says what a long wait waits for.
"""
