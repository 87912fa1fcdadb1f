"""Checks modules for torch.distributed."""

from __future__ import annotations

from functools import partial

from syncoll_tables import TableChecker
from syncoll_torch.format import FORMAT

__all__ = ["TorchChecker"]

TorchChecker = partial(TableChecker, FORMAT)
