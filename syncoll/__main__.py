"""``python -m syncoll`` and the command: runs it, and ends quietly when interrupted at once."""

import sys


def main() -> int:
    """Runs the command line; returns its exit code, also where Ctrl-C comes during the imports."""
    try:
        from syncoll.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("syncoll: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
