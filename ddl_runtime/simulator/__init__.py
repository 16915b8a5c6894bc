"""Ranks as stacks of one process, in virtual time.

A message's way: `communicator` calls `point_to_point`, which computes when the message leaves and
arrives, and puts it into the receiver's `Channel` (`rank_state`). If it has not come yet, the
receiver gives its turn to `engine`, which chooses a strand that can run; `fibers` go to that
strand's stack. `simulate` starts and ends all this; `diagnosis` explains a deadlock.
"""
