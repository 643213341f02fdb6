"""What holds for every test."""

import signal

# A shell starts what runs in the background with Ctrl-C ignored, and tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
