"""``python -m syncoll``."""

import sys

from syncoll.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
