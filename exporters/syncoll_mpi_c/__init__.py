"""A file in C for any MPI, with the signature of MPI's own collective."""

from syncoll.plugins import ExporterRecord

RECORD = ExporterRecord(
    name="mpi-c",
    summary="a file in C99 for any MPI, with MPI's own signature",
    load="syncoll_mpi_c.format:EXPORTER",
    load_checker="syncoll_mpi_c.checker:CHECKER",
    recognises=lambda path, head: path.suffix == ".c" and b"syncoll-mpi-c " in head,
)
