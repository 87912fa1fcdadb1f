"""``python -m syncoll`` and the command: runs it, and ends quietly when interrupted at once."""

import signal
import sys
import threading


def main() -> int:
    """Runs the command line; returns its exit code, even if Ctrl-C comes during the imports."""
    try:
        from syncoll.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("syncoll: interrupted\n")
        return 130
    finally:
        # Python would print the place of Ctrl-C during its exit. Here it kills the process instead.
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
