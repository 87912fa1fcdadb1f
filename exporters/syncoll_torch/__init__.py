"""A module for torch.distributed: point-to-point operations on any backend that has them."""

from syncoll.plugins import ExporterRecord

RECORD = ExporterRecord(
    name="torch",
    summary="a Python module of torch.distributed's sends and receives, on any backend",
    load="syncoll_torch.format:EXPORTER",
    load_checker="syncoll_torch.checker:CHECKER",
    recognises=lambda path, head: path.suffix == ".py" and b"syncoll-torch " in head,
    runs="syncoll_torch.ranks:start",
)
