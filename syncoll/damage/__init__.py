"""What of a machine is broken or slower, in words, and the machine without it.

The spec language has it behind ``without`` and ``with`` of a topology, a repair as options.
"""
