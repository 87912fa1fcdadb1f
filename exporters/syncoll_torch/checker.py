"""Checks modules for torch.distributed."""

from syncoll_tables import TableChecker
from syncoll_torch.format import FORMAT

CHECKER = TableChecker(FORMAT)
