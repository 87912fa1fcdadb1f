"""Certificates of lower bounds on R: prices and an argument, checked by counting.

Nothing here searches or solves; `syncoll.bounding` finds certificates.
"""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.certificates.boxes import Boxes as Boxes
    from syncoll.certificates.certificate import *
    from syncoll.certificates.chunk_classes import *
    from syncoll.certificates.completions import *
    from syncoll.certificates.cut import Cut as Cut
    from syncoll.certificates.parts import Parts as Parts
    from syncoll.certificates.priced import *
    from syncoll.certificates.switches import Switches as Switches
    from syncoll.certificates.trees import *
    from syncoll.certificates.ways import *
else:
    __getattr__ = lazily(__name__)
