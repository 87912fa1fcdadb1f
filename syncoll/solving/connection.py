"""The parent's end of a worker process: starts it, talks to it, watches it and kills it.

Reading from a pipe with a timeout is not portable, so one thread reads messages into a queue, and
another keeps the last lines of the worker's standard error.

The caller that waits for an answer watches the worker.  A thread of each process watches the memory
of its idle workers.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import BinaryIO, Final, cast

import psutil

from syncoll.memory import budget
from syncoll.processes import python_command
from syncoll.solving.worker import Failed, receive, send

_START = """\
import importlib
main = importlib.import_module(sys.argv[2]).main
main(int(sys.argv[1]) if sys.argv[1] else None)
"""
_KEPT_LINES = 40
_SHOWN_LINES = 20
_LONGEST_LINE = 500
_REST_SECONDS = 0.5


class WorkerConnection:
    """A running worker process of a module, see `syncoll.solving.worker`.  Raises `OSError` if it
    cannot be started."""

    NOTHING: Final = object()
    """The result of `poll` if no message has come."""

    def __init__(self, module: str = "syncoll.solving.worker") -> None:
        # Its own session, so that Ctrl-C at a terminal only reaches the parent.
        creation = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        # Nothing is ever written into this pipe: it only reports the end of this process. (A
        # request's own pipe would not do: the kernel signals its data only after it has woken the
        # reader, who may be solving by then.)
        theirs: int | None = None
        self._lifeline: int | None = None
        if sys.platform == "linux":
            theirs, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                python_command(_START, str(theirs or ""), module),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=os.name == "posix",
                creationflags=creation,
                pass_fds=() if theirs is None else (theirs,),
            )
        except OSError:
            if self._lifeline is not None:
                os.close(self._lifeline)
            raise
        finally:
            if theirs is not None:
                os.close(theirs)
        requests, answers, errors = (
            cast(BinaryIO, stream)
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._requests = requests
        self._streams = (requests, answers, errors)
        self._inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._errors: deque[str] = deque(maxlen=_KEPT_LINES)
        self._watched: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            self._watched = psutil.Process(self._process.pid)
        self._readers = (
            threading.Thread(target=_read_answers, args=(answers, self._inbox), daemon=True),
            threading.Thread(target=_read_errors, args=(errors, self._errors), daemon=True),
        )
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def send(self, message: object) -> bool:
        """Sends a message; False if the worker is gone."""
        try:
            send(self._requests, message)
        except OSError:
            return False
        return True

    @property
    def has_message(self) -> bool:
        """Whether a message has come."""
        return not self._inbox.empty()

    def poll(self, seconds: float) -> object:
        """The next message, None if the worker is gone, `NOTHING` if none comes in time."""
        try:
            return self._inbox.get(timeout=seconds)
        except queue.Empty:
            return WorkerConnection.NOTHING

    def memory(self) -> int:
        """The resident memory in bytes; 0 if the process is gone."""
        try:
            return int(self._watched.memory_info().rss) if self._watched else 0
        except psutil.Error:
            return 0

    def end(self) -> None:
        """Ends the process without waiting, from any thread; `kill` must still be called."""
        self._process.kill()

    def kill(self) -> None:
        """Ends the process, waits for it and closes the pipes."""
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join(timeout=1.0)
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.close()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def exit_description(self) -> str:
        """The exit code or signal of the process, and the last lines of its standard error."""
        try:
            code = self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            return "closed its pipe without ending"
        for reader in self._readers:
            reader.join(timeout=1.0)
        return "\n".join([_ending(code), *list(self._errors)[-_SHOWN_LINES:]])


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"was killed by signal {-code}"
    hint = ", often because the system lacks memory" if name == "SIGKILL" else ""
    return f"was killed by signal {-code} ({name}){hint}"


def _read_answers(stream: BinaryIO, inbox: queue.SimpleQueue[object]) -> None:
    while True:
        try:
            inbox.put(receive(stream))
        except (EOFError, OSError, ValueError):
            inbox.put(None)
            return
        except Exception as error:
            inbox.put(Failed("its answer cannot be read", f"{type(error).__name__}: {error}"))


def _read_errors(stream: BinaryIO, lines: deque[str]) -> None:
    with contextlib.suppress(OSError, ValueError):
        while line := stream.readline(_LONGEST_LINE):
            lines.append(line.decode(errors="replace").rstrip())


@dataclass(eq=False)
class _Resting:
    """The idle workers of this process.  Thread-safe."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _kept: weakref.WeakSet[WorkerConnection] = field(default_factory=weakref.WeakSet)
    _any: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def keep(self, connection: WorkerConnection) -> None:
        """Adds an idle worker, which may be ended from now on."""
        with self._lock:
            self._kept.add(connection)
            self._any.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="syncoll resting workers", daemon=True
                )
                self._thread.start()

    def take(self, connection: WorkerConnection) -> bool:
        """Removes a worker; False if it was ended or was not idle."""
        with self._lock:
            rested = connection in self._kept
            self._kept.discard(connection)
            return rested

    def make_room(self) -> bool:
        """Ends the largest idle worker if the command is short of memory; whether it did."""
        with self._lock:
            kept = list(self._kept)
            if not kept:
                self._any.clear()
                return False
        largest = max(kept, key=WorkerConnection.memory)
        if not budget().may_not_rest(largest.pid):
            return False
        with self._lock:
            if largest not in self._kept:  # it got a question meanwhile
                return False
            self._kept.discard(largest)
            largest.end()
        return True

    def _watch(self) -> None:
        while self._any.wait():
            time.sleep(_REST_SECONDS)
            self.make_room()


RESTING = _Resting()
"""The idle workers of this process."""
