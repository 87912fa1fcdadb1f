"""Arrays of whole numbers as short texts in JSON, and the room for them in a page.

An array is written as its lower bytes, then its higher ones (similar bytes compress well together),
with zlib, in base64.  The decoder is in ``assets/data.js``.
"""

import base64
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Packed = dict[str, str | int]
"""An array in JSON: ``bytes`` of each entry, the number of entries as ``count``, and ``data``."""


def pack(values: npt.ArrayLike) -> Packed:
    """An array of numbers from 0 to 2^32 - 1, row by row.

    Examples:
        >>> pack([[1, 2], [3, 4]])
        {'bytes': 1, 'count': 4, 'data': 'eNpjZGJmAQAAGAAL'}
    """
    flat = np.asarray(values).ravel().astype(np.uint32)
    most = int(flat.max(initial=0))
    width = 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4
    planes = flat.astype(f"<u{width}").view(np.uint8).reshape(-1, width).T
    content = base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()
    return {"bytes": width, "count": len(flat), "data": content}


@dataclass
class ByteRoom:
    """Bytes left for arrays; an array that does not fit is left out, and the page says so."""

    left: int

    def take(self, packed: Packed) -> Packed | None:
        """The array if there is room for it, which is taken; else None."""
        size = len(str(packed["data"]))
        if size > self.left:
            return None
        self.left -= size
        return packed
