from __future__ import annotations

import os
import signal

# A job that a shell started in the background, or nohup, inherits signals that are ignored, and so
# would the processes of the tests that send them one.  A handler here is the default there.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# What a test finds out must not come from what an earlier run kept in the user's cache.
os.environ["SYNCOLL_STORE"] = "none"
