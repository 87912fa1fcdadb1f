"""Everything for use from Python; `import syncoll` has all of it, loaded when it is asked for."""

from typing import TYPE_CHECKING

import syncoll

if TYPE_CHECKING:
    from syncoll import *
else:
    __all__ = [name for name in syncoll.__all__ if name != "__version__"]
    __getattr__ = syncoll.__getattr__
