"""The format of the exporter."""

from syncoll.runtime import TableExporter
from syncoll_tables import mpi_format

FORMAT = mpi_format("mpi-c")
EXPORTER = TableExporter(FORMAT.text, ".c")
