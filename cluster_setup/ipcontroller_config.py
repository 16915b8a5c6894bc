"""Settings of ipyparallel's controller, for all grounds; `ddl-teach cluster start` uses them.

CurveZMQ encrypts what goes over the network. The key that signs each message is made here, anew at
each start: it is in no file but the connection files, which only their owner can read.
"""

import secrets

c = get_config()  # noqa: F821
c.Session.key = secrets.token_hex(32).encode()
c.IPController.enable_curve = True
c.IPController.reuse_files = False
c.HeartMonitor.period = 500
c.HeartMonitor.max_heartmonitor_misses = 60
