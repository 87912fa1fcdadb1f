"""The format of the exporter."""

from syncoll.runtime import TableExporter
from syncoll_tables import TableChecker, mpi_format

FORMAT = mpi_format("mpi-c")
EXPORTER = TableExporter(FORMAT.text, ".c")
CHECKER = TableChecker(FORMAT)
