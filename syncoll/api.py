"""The public names of `syncoll`, which `import syncoll` has too."""

from typing import TYPE_CHECKING

import syncoll

if TYPE_CHECKING:
    from syncoll import *  # noqa: F403
else:
    __all__ = [name for name in syncoll.__all__ if name != "__version__"]
    __getattr__ = syncoll.__getattr__
