"""``python -m tasks``."""

from __future__ import annotations

import sys

from tasks import main

sys.exit(main())
