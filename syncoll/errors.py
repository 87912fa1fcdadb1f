"""Every error that a user can meet, in one tree.

::

    SyncollError
    ├── LocatedError          can point at file, line and column, with a caret
    │   ├── SpecError         a spec's text is wrong (syntax, names, arity, ranges, size)
    │   │   └── SpecLimitError  it would make tables too large, or take too long to evaluate
    │   └── ModelError        a topology, collective or instance makes no sense
    │       └── ImpossibleError  no algorithm can perform a collective on a topology
    ├── UsageError            the request is wrong (an option, a combination of options)
    │   ├── FormulaTooLargeError  an encoding would need more memory than the machine has
    │   └── UnlabelledError       an encoding does not label its variables
    ├── FileFormatError       a stored file is truncated, hand-broken, or from a newer version
    │   └── ImportFormatError     a tool's description of a machine is malformed or incomplete
    ├── ExportError           a format cannot express an algorithm
    ├── VerificationError     an algorithm does not solve its instance
    │   └── UncheckedError        no error was found, but some claims could not be checked
    ├── ExecutionError        a run on real processes did not end
    ├── OutOfTimeError        a limit of time was reached
    ├── PluginError           a plugin is missing, broken, or registered twice
    │   ├── OptionError       a plugin option is unknown or out of its range
    │   └── UnknownPluginError  no plugin of this name can be used; also a KeyError
    └── BackendError          a backend gave an answer that cannot be true

A message states the error, its place, and the remedy.  Any error that is not a `SyncollError` is a
bug of syncoll.
"""

from dataclasses import dataclass

_WIDEST_EXCERPT = 160


@dataclass(frozen=True)
class Origin:
    """A place in a spec file: where something was written.

    Args:
        file: the file as the user named it, or a label such as ``<argument>``.
        line: counted from 1.
        column: counted from 1.
        text: the whole line, without its line break.
        width: how many columns the caret should underline, at least 1.
    """

    file: str
    line: int
    column: int
    text: str
    width: int = 1

    def excerpt(self) -> str:
        """The line with a caret under it, cut around the column when it is very long."""
        text, column = self.text.expandtabs(1), self.column
        if len(text) > _WIDEST_EXCERPT:
            start = max(0, column - _WIDEST_EXCERPT // 2)
            text, column = text[start : start + _WIDEST_EXCERPT], column - start
        width = max(1, min(self.width, len(text) - column + 1))
        margin = f"{self.line} | "
        return f"{margin}{text}\n{' ' * (len(margin) + column - 1)}{'^' * width}"


class SyncollError(Exception):
    """Any error in a request, a file or a plugin, in words for its user."""


class LocatedError(SyncollError):
    """An error that may know the place in a spec file that caused it.

    Args:
        message: the error.
        origin: its place, if it came from a file.
        expected: a right text, as the end of ``expected …``.
    """

    def __init__(self, message: str, origin: Origin | None = None, expected: str = "") -> None:
        super().__init__(message)
        self.message, self.origin, self.expected = message, origin, expected

    def __str__(self) -> str:
        parts, at = [self.message], self.origin
        if at is not None:
            parts = [f"{at.file}:{at.line}:{at.column}: {self.message}", at.excerpt()]
        if self.expected:
            parts.append(f"expected {self.expected}")
        return "\n".join(parts)

    def __reduce__(self) -> "tuple[type[LocatedError], tuple[str, Origin | None, str]]":
        return type(self), (self.message, self.origin, self.expected)


class SpecError(LocatedError):
    """The text of a spec is wrong."""


class SpecLimitError(SpecError):
    """Evaluating a spec for these numbers takes more than any spec may."""


class ModelError(LocatedError):
    """A topology, collective or instance makes no sense, however it was built."""


class ImpossibleError(ModelError):
    """No algorithm can perform a collective on a topology: this is proved."""


class UsageError(SyncollError):
    """The request itself is wrong: an option, or a combination of options."""


class FormulaTooLargeError(UsageError):
    """An instance's formula would be larger than any machine could hold or solve."""


class UnlabelledError(UsageError):
    """An encoding does not label its variables, as symmetric search needs."""


class FileFormatError(SyncollError):
    """A stored file cannot be trusted: truncated, hand-broken, or from a newer version."""


class ImportFormatError(FileFormatError):
    """A tool's description of a machine is malformed, truncated, or incomplete."""


class ExportError(SyncollError):
    """A format, or the chosen dialect, cannot express an algorithm."""


class VerificationError(SyncollError):
    """An algorithm does not solve its instance."""


class UncheckedError(VerificationError):
    """No error was found, but some claims could not be checked; the message names them."""


class ExecutionError(SyncollError):
    """A run on real processes did not end: one died, failed, or took too long.

    Args:
        message: the process, and the known facts about it.
        timed_out: whether a time limit ended it.
    """

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class OutOfTimeError(SyncollError):
    """A limit of time was reached; the unfinished result is left out, and claims nothing."""


class PluginError(SyncollError):
    """A plugin is missing, broken, or registered twice."""


class OptionError(PluginError):
    """A plugin option is unknown, of the wrong type, or out of its range."""


class UnknownPluginError(PluginError, KeyError):
    """No plugin of this name can be used: it does not exist, is broken, or exists twice."""

    __str__ = Exception.__str__  # a KeyError's text is in quotes


class BackendError(SyncollError):
    """A backend gave an answer that cannot be true (a bug in it, or in its adapter)."""
