"""The memory that a command may use, the part of it that is free, and the reaction at the limit.

A command consists of its process and all processes that it has started: solver workers, processes
of a design.  Their resident memory together stays below one limit: half of the memory that was free
when the command began, unless ``--memory-limit`` sets another.  Three mechanisms enforce it:

* Large objects are estimated before they are built (`MemoryBudget.lacks`), and skipped if they
  would not fit; the caller continues with something smaller.
* Solver processes are ended if the total exceeds the limit: idle ones
  (`MemoryBudget.may_not_rest`), and the largest one (`MemoryBudget.must_go`); the others continue.
* As a last resort, a thread raises `MemoryError` in the main thread if no solver's process is worth
  ending, or the command stays over its limit nevertheless.

Free memory is as the system reports it, or less if a control group (a container, a batch job) or
``ulimit`` allows less.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from syncoll.errors import UsageError
from syncoll.interrupts import may_raise

_DEFAULT_SHARE = 0.5  # of the free memory, for a command without a limit from the user
_LEAST_LIMIT = 128 << 20  # Python, its libraries and a worker that has imported a solver
_ALWAYS_BEGUN = 16 << 20  # makes no difference, and without it nothing would begin
_LEAST_ADDRESS_SPACE = 768 << 20  # reserved by the libraries and threads of a search
_LEAST_WORTH = 64 << 20  # ending a smaller one helps little: it may not have its solver yet
_SPARE = 0.9  # of the present free memory, for a single object that is about to be built
_SAMPLE_SECONDS = 0.2  # a sample of all processes, which takes some milliseconds, is used this long
_GUARD_SECONDS = 0.5
_RELIEF_SECONDS = 5.0  # for the main thread to make room before it is signalled again
_DELIVERY_SECONDS = 1.0  # a signal that was sent arrives much sooner
_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryBudget:
    """The memory that a command may use.  Commands have equal budgets only if they are the same.

    Args:
        limit: bytes of resident memory, of all its processes together.
        named: the limit that the user named; None for the default share.
        pid: process id of the command's own process.
    """

    limit: int
    named: int | None
    pid: int

    @classmethod
    def of_this_process(cls, named: int | None = None) -> "MemoryBudget":
        """The budget of a command that begins now; without a limit half of the free memory."""
        pid, limit = os.getpid(), named
        if limit is None:
            limit = _sample(pid).total + int(free_bytes() * _DEFAULT_SHARE)
        return cls(limit, named, pid)

    def used(self) -> int:
        """Bytes that the command's processes have now, at most a fraction of a second ago."""
        return _sample(self.pid).total

    def room(self) -> int:
        """Bytes that may still be taken; never negative."""
        return max(0, min(self.limit - self.used(), int(free_bytes() * _SPARE)))

    def lacks(self, needs: int, subject: str) -> str:
        """Why an object is not built, in words; empty if it fits.

        Args:
            needs: approximate number of bytes.
            subject: the object to be built, as the beginning of a sentence.
        """
        if needs <= _ALWAYS_BEGUN or needs <= (room := self.room()):
            return ""
        return (
            f"{subject} would need about {amount_of(needs)} of memory, over the {amount_of(room)} "
            f"that are left within the limit of {amount_of(self.limit)} (--memory-limit)"
        )

    def must_go(self, pid: int) -> str:
        """Why a solver's process must end at once, in words; empty if it may continue.  All
        together are over the limit, and no other process that could be ended is as large."""
        sample = _sample(self.pid)
        if pid != sample.largest_leaf or not self.may_not_rest(pid):
            return ""
        return (
            f"killed at {amount_of(sample.sizes[pid])} of memory, when this command had "
            f"{amount_of(sample.total)}; its limit is {amount_of(self.limit)} (--memory-limit)"
        )

    def may_not_rest(self, pid: int) -> bool:
        """Whether an idle solver's process must end because too little memory is left."""
        sample = _sample(self.pid)
        if sample.total <= self.limit or sample.sizes.get(pid, 0) < _LEAST_WORTH:
            return False
        _forget_samples()  # a new sample decides the next step
        return True

    def exhausted(self) -> str:
        """Why the command's own process must make room, in words; empty if it need not.  It need
        not if a worker is worth ending: the code that waits for or keeps that worker ends it soon.
        """
        sample = _sample(self.pid)
        leaf = sample.largest_leaf
        return "" if leaf is not None and sample.sizes[leaf] >= _LEAST_WORTH else self.exceeded()

    def exceeded(self) -> str:
        """That all processes together use too much, in words; empty if they do not."""
        total = self.used()
        if total <= self.limit:
            return ""
        return (
            f"this command has {amount_of(total)}, and its limit is "
            f"{amount_of(self.limit)} (--memory-limit)"
        )


@dataclass(frozen=True)
class _Sample:
    """The memory of a command's processes, and the largest that has started no other."""

    taken: float
    sizes: dict[int, int]
    largest_leaf: int | None

    @property
    def total(self) -> int:
        return sum(self.sizes.values())


_lock = threading.Lock()
_samples: dict[int, _Sample] = {}


def _sample(pid: int) -> _Sample:
    with _lock:
        last = _samples.get(pid)
        if last is None or time.monotonic() - last.taken >= _SAMPLE_SECONDS:
            last = _samples[pid] = _look(pid)
        return last


def _forget_samples() -> None:
    with _lock:
        _samples.clear()


def _look(pid: int) -> _Sample:
    import psutil

    sizes: dict[int, int] = {}
    parents: set[int] = set()
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                sizes[process.pid] = int(process.memory_info().rss)
                if process.pid != pid:
                    parents.add(process.ppid())
    leaves = [one for one in sizes if one not in parents and one != pid]
    largest = max(leaves, key=lambda one: sizes[one], default=None)
    return _Sample(time.monotonic(), sizes, largest)


def amount_of(size: int) -> str:
    """Bytes in words: ``9.2 GiB``, ``640 MiB``."""
    if size >= 10 << 30:
        return f"{size / 2**30:.0f} GiB"
    return f"{size / 2**30:.1f} GiB" if size >= 1 << 30 else f"{size / 2**20:.0f} MiB"


def free_bytes() -> int:
    """Bytes that this process could use: of the machine, its control groups, its own limits."""
    import psutil

    free = [int(psutil.virtual_memory().available), *_left_in_groups(), *_left_by_ulimit()]
    return max(0, min(free))


def _left_by_ulimit() -> Iterator[int]:
    """The bytes that ``ulimit -v`` and ``ulimit -d`` leave this process, each if it is set."""
    import psutil

    info = psutil.Process().memory_info()
    for name, taken in (("RLIMIT_AS", "vms"), ("RLIMIT_DATA", "data")):
        limit = _ulimit(name)
        if limit is not None and hasattr(info, taken):
            yield limit - int(getattr(info, taken))


def _ulimit(name: str) -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(getattr(resource, name))
    return None if limit == resource.RLIM_INFINITY else limit


def _left_in_groups() -> Iterator[int]:
    """The bytes that each control group of this process leaves it (Linux, versions 1 and 2)."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = _CGROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        folder = root / path.lstrip("/")
        # In a container the path is often an outside one, and only the root can be seen.
        for group in {root, folder, *(p for p in folder.parents if root in p.parents)}:
            left = _left_in_group(group, *names)
            if left is not None:
                yield left


def _left_in_group(group: Path, most: str, current: str, cache: str) -> int | None:
    try:
        limit, used, facts = (
            (group / name).read_text(encoding="ascii").split()
            for name in (most, current, "memory.stat")
        )
        pages = dict(zip(facts[::2], facts[1::2], strict=True)).get(cache, 0)
        return int(limit[0]) - int(used[0]) + int(pages)  # files' pages are given back
    except (OSError, ValueError, IndexError):  # also where the limit is the word max
        return None


_current: MemoryBudget | None = None
_began = False
_tell: Callable[[str], None] | None = None
_said: set[str] = set()
_refusals = 0


@contextlib.contextmanager
def command(named: int | None = None, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """In this context `budget` is the budget of one command.  Over it, `MemoryError` is raised in
    the main thread if ending solvers' processes does not help.  Within another one it adds nothing.

    Args:
        named: the limit in bytes; None for the default share, which is computed when needed.
        tell: receives a message, once for each object that is not built for lack of memory.

    Raises:
        UsageError: for a limit below the minimum of any command.
    """
    global _current, _began, _tell, _guard
    if _began:
        yield
        return
    before = _current, _began, _tell
    guard = None
    _said.clear()
    _current, _began, _tell = None, True, tell
    try:
        if named is not None:
            if named < _LEAST_LIMIT:
                raise UsageError(
                    f"--memory-limit {amount_of(named)}: a command needs "
                    f"{amount_of(_LEAST_LIMIT)} even with an idle solver; give it more"
                )
            _current = MemoryBudget.of_this_process(named)
        if threading.current_thread() is threading.main_thread() and _guard is None:
            guard = _guard = _Guard()
        yield
    finally:
        if guard is not None:
            _guard = None
            guard.end()
        _current, _began, _tell = before


def require_address_space() -> None:
    """Passes if ``ulimit -v`` leaves enough for the libraries and threads of a search.  Raises
    `UsageError` if it does not: these would end the process, and no error could be caught."""
    limit = _ulimit("RLIMIT_AS")
    if limit is not None and limit < _LEAST_ADDRESS_SPACE:
        raise UsageError(
            f"the system limits this process to {amount_of(limit)} of addresses (ulimit -v); "
            f"the libraries of a search reserve up to {amount_of(_LEAST_ADDRESS_SPACE)}: raise "
            "that limit, and limit the memory in use with --memory-limit"
        )


def budget() -> MemoryBudget:
    """The budget of the command that this process belongs to; all memory if none began."""
    global _current
    if _current is None:
        _current = MemoryBudget.of_this_process()
        if not _began:  # a program that uses this library may use all memory of the machine
            import psutil

            _current = replace(_current, limit=int(psutil.virtual_memory().total))
    return _current


def refusals() -> int:
    """Number of objects that were not built so far; it only grows."""
    return _refusals


def on_refusal(text: str) -> None:
    """Reports to the user of the command, once, that an object was not built."""
    global _refusals
    _refusals += 1
    if _tell is not None and text not in _said:
        _said.add(text)
        _tell(text)


class _Guard:
    """Signals to the main thread, if signals exist, to make room."""

    def __init__(self) -> None:
        self.resting = False
        self.why = ""
        self._sent = self._received = 0  # signals; several at once arrive as one
        self._ended = threading.Event()
        self._main = threading.main_thread()
        self._signal = getattr(signal, "SIGUSR1", None)
        self._before: object = None
        self._thread = threading.Thread(target=self._watch, name="syncoll memory", daemon=True)
        if self._signal is not None:
            self._before = signal.signal(self._signal, self._heard)
        self._thread.start()

    def end(self) -> None:
        """Restores the previous handler of the signal once no own signal can come any more."""
        self._ended.set()
        self._thread.join()
        if self._signal is not None:
            ends = time.monotonic() + _DELIVERY_SECONDS
            while self._received != self._sent and time.monotonic() < ends:
                time.sleep(0.001)
            signal.signal(self._signal, self._before or signal.SIG_DFL)  # type: ignore[arg-type]

    def _heard(self, number: int, frame: FrameType | None) -> None:
        """In the main thread."""
        if self._received == self._sent:  # a signal from elsewhere keeps its meaning
            signal.signal(number, self._before or signal.SIG_DFL)  # type: ignore[arg-type]
            signal.raise_signal(number)
            signal.signal(number, self._heard)
            return
        self._received = self._sent
        if not (self.resting or self._ended.is_set()) and may_raise(frame):
            raise MemoryError(self.why)  # elsewhere the signal is repeated

    def _watch(self) -> None:
        within = time.monotonic()  # the limit, when this was last seen
        while not self._ended.wait(_GUARD_SECONDS):
            if self.resting:
                continue
            now = time.monotonic()
            exceeded = budget().exceeded()
            if not exceeded:
                within = now
            why = budget().exhausted()
            if now - within >= _RELIEF_SECONDS:  # the end of workers does not help
                why = exceeded
            if not why:
                continue
            self._tell(why)
            self._ended.wait(_RELIEF_SECONDS)
            _forget_samples()
            within = time.monotonic()

    def _tell(self, why: str) -> None:
        if self._ended.is_set() or self._received != self._sent:
            return  # an earlier signal has not arrived yet
        self.why = why
        if self._signal is not None:
            self._sent += 1
            # A real signal, so that waiting for a lock ends, too.
            signal.pthread_kill(self._main.ident or 0, self._signal)
        else:
            import ctypes

            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._main.ident or 0), ctypes.py_object(MemoryError)
            )


_guard: _Guard | None = None


def end_guard() -> None:
    """From now on nothing is raised: results are shown and saved at any cost."""
    if _guard is not None:
        _guard.resting = True
