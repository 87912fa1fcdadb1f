"""``python -m tasks``."""

import sys

from tasks import main

sys.exit(main())
