"""Certificates with a changed argument."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from syncoll.certificates import Priced


def argued(proof: Priced, **changes: Any) -> Priced:
    """The same prices with other witnesses."""
    return replace(proof, argument=replace(proof.argument, **changes))
