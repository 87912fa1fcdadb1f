"""The worker process: imports one backend and answers one request after the other.

Messages are pickles, each after its length in eight bytes.  Both ends are the same program on the
same machine and own the two ends of the pipe, so nothing else can put a pickle into it.

Messages have a descriptor of their own; output of a native library to standard output goes to
standard error.  The worker never outlives its parent, even if that is killed:

* a thread reads requests and ends the process at end of file;
* a solver may hold the interpreter's lock for hours, which stops that thread, too.  On Linux the
  kernel therefore sends a signal when another pipe, which is never written to, closes; its default
  action ends the process.  (The parent-death signal of ``prctl`` would also come if only the thread
  that started the worker ends.)

The worker ignores interrupts, which the parent handles.
"""

import faulthandler
import os
import pickle
import queue
import select
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from syncoll.formula import Formula, Limits, Outcome
from syncoll.plugins import Backend, Options

_LENGTH = struct.Struct(">Q")


@dataclass(frozen=True)
class LoadRequest:
    """Parent to worker, once: import the backend."""

    load: Callable[[], Backend]


@dataclass(frozen=True)
class SolveRequest:
    """Parent to worker: decide a formula."""

    formula: Formula
    limits: Limits
    options: Options


@dataclass(frozen=True)
class Ready:
    """Worker to parent: the backend is imported."""


@dataclass(frozen=True)
class Done:
    """Worker to parent: the backend's outcome, and the seconds of wall-clock time it took."""

    outcome: Outcome
    seconds: float


@dataclass(frozen=True)
class Failed:
    """Worker to parent: the backend raised an exception: a line, and the traceback."""

    message: str
    details: str
    out_of_memory: bool = False


def send(stream: BinaryIO, message: object) -> None:
    """Writes one message; raises `OSError` if the other end is gone."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Reads one message; raises `EOFError` if the other end is gone, even in the middle of it."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("the other end of the pipe is gone")
    return data


def opened(lifeline: int | None) -> tuple[queue.SimpleQueue[object], BinaryIO]:
    """Makes this process a worker; returns the queue of requests and the stream for answers.  The
    closing of the lifeline, if that is supported, ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if lifeline is not None:
        _end_with_parent(lifeline)
    requests, answers = _take_over_streams()
    faulthandler.enable(sys.stderr, all_threads=False)
    inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests, inbox), daemon=True).start()
    return inbox, answers


def main(lifeline: int | None = None) -> None:
    """Serves requests until the parent closes the pipe."""
    inbox, answers = opened(lifeline)
    backend: Backend | None = None
    while True:
        request = inbox.get()
        answer: object
        try:
            if isinstance(request, LoadRequest):
                loaded = request.load()
                if not callable(getattr(loaded, "solve", None)):
                    raise TypeError(f"it gave a {type(loaded).__name__}, which has no `solve`")
                backend, answer = loaded, Ready()
            elif isinstance(request, SolveRequest) and backend is not None:
                answer = _solve(backend, request)
            else:
                # Unpickling failed: a loader that cannot be imported here.
                answer = Failed(f"the worker cannot read its request: {request}", "")
        except BaseException as error:
            answer = failure(error)
        try:
            send(answers, answer)
        except OSError:
            return
        except Exception as error:  # a backend put something unpicklable into its outcome
            send(answers, failure(error))


def _take_over_streams() -> tuple[BinaryIO, BinaryIO]:
    """Private copies of standard input and output; the public ones are redirected."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(requests.fileno(), os.O_BINARY)
        msvcrt.setmode(answers.fileno(), os.O_BINARY)
    return requests, answers


def _read_requests(requests: BinaryIO, inbox: queue.SimpleQueue[object]) -> None:
    while True:
        try:
            request = receive(requests)
        except (EOFError, OSError):
            os._exit(0)
        except Exception as error:
            request = error
        inbox.put(request)


def _solve(backend: Backend, request: SolveRequest) -> Done:
    started = time.perf_counter()
    outcome = backend.solve(request.formula, request.limits, request.options)
    if not isinstance(outcome, Outcome):
        raise TypeError(f"the backend returned {type(outcome).__name__}, not an Outcome")
    return Done(outcome, time.perf_counter() - started)


def failure(error: BaseException) -> Failed:
    """The message for an exception."""
    return Failed(
        "".join(traceback.format_exception_only(error)).strip(),
        "".join(traceback.format_exception(error)),
        isinstance(error, MemoryError),
    )


def _end_with_parent(lifeline: int) -> None:
    """Has the kernel end this process when the parent's end of a pipe closes."""
    if sys.platform != "linux":
        return
    import fcntl

    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    poll = select.poll()
    poll.register(lifeline, 0)
    if poll.poll(0):  # it closed before the signal was requested
        os._exit(0)
