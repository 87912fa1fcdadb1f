"""MPI itself, imported on demand, with a private communicator for each communicator of the user."""

from functools import cache
from typing import TYPE_CHECKING, Any

from syncoll.errors import UsageError

if TYPE_CHECKING:
    from mpi4py import MPI

HOW_TO_INSTALL = "install it with `pip install 'syncoll[mpi]'`"


@cache
def mpi() -> Any:
    """The module ``mpi4py.MPI``, which initialises MPI; UsageError if it is not installed."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: no MPI library
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"running over MPI needs mpi4py and an MPI library, which cannot be loaded here "
            f"({reason}); {HOW_TO_INSTALL}"
        ) from None
    return MPI


def private(comm: "MPI.Intracomm") -> "MPI.Intracomm":
    """A private copy of a communicator, which keeps messages apart from the user's.

    The first call for a communicator is a collective operation; later ones return the same copy,
    which is freed together with the communicator.
    """
    key = _key()
    known: Any = comm.Get_attr(key)
    copy: MPI.Intracomm = comm.Dup() if known is None else known
    if known is None:
        comm.Set_attr(key, copy)
    return copy


@cache
def _key() -> int:
    def free(_comm: object, _key: int, copy: "MPI.Intracomm") -> None:
        copy.Free()

    key: int = mpi().Comm.Create_keyval(delete_fn=free)
    return key
