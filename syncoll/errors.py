"""Every error that a user can meet, in one tree.

::

    SyncollError
    ├── LocatedError          can point at file, line and column, with a caret
    │   ├── SpecError         a spec's text is wrong (syntax, names, arity, ranges, size)
    │   │   └── SpecLimitError  it would make tables too large, or take too long to evaluate
    │   └── ModelError        a topology, collective or instance makes no sense
    │       └── ImpossibleError  a collective that no algorithm does on a topology
    ├── UsageError            the request is wrong (an option, a combination of options)
    │   ├── FormulaTooLargeError  an encoding would need more memory than there is
    │   └── UnlabelledError       an encoding does not say what its variables are about
    ├── FileFormatError       a stored file is truncated, hand-broken, or from a newer version
    │   └── ImportFormatError     a tool's description of a machine is not one, or says too little
    ├── ExportError           a format cannot express an algorithm
    ├── VerificationError     an algorithm does not do what its instance demands
    │   └── UncheckedError        nothing wrong was found, but not all could be checked
    ├── ExecutionError        a run on real processes did not come to its end
    ├── OutOfTimeError        a limit of time was reached
    ├── PluginError           a plugin is missing, broken, or registered twice
    │   ├── OptionError       a plugin option is unknown or out of its range
    │   └── UnknownPluginError  no plugin of this name can be used; also a KeyError
    └── BackendError          a backend answered something that cannot be true

A message says what happened, where, and what to do next.  Anything that is not a
`SyncollError` is a bug of syncoll's own.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BackendError",
    "ExecutionError",
    "ExportError",
    "FileFormatError",
    "FormulaTooLargeError",
    "ImportFormatError",
    "ImpossibleError",
    "LocatedError",
    "ModelError",
    "OptionError",
    "Origin",
    "OutOfTimeError",
    "PluginError",
    "SpecError",
    "SpecLimitError",
    "SyncollError",
    "UncheckedError",
    "UnknownPluginError",
    "UnlabelledError",
    "UsageError",
    "VerificationError",
]

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
    """Anything that is wrong with a request, a file or a plugin, in words for its user."""


class LocatedError(SyncollError):
    """An error that may know the place in a spec file that caused it.

    Args:
        message: what is wrong.
        origin: where, when it came from a file.
        expected: what would have been right, as the end of ``expected …``.
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

    def __reduce__(self) -> tuple[type[LocatedError], tuple[str, Origin | None, str]]:
        return type(self), (self.message, self.origin, self.expected)


class SpecError(LocatedError):
    """The text of a spec is wrong."""


class SpecLimitError(SpecError):
    """Evaluating a spec for these numbers takes more than any spec may."""


class ModelError(LocatedError):
    """A topology, collective or instance makes no sense, however it was built."""


class ImpossibleError(ModelError):
    """No algorithm at all does what a collective asks for on a topology: that is proved."""


class UsageError(SyncollError):
    """The request itself is wrong: an option, or a combination of options."""


class FormulaTooLargeError(UsageError):
    """An instance's formula would be larger than any machine could hold or solve."""


class UnlabelledError(UsageError):
    """An encoding does not say what its variables are about, which symmetric search needs."""


class FileFormatError(SyncollError):
    """A stored file cannot be trusted: truncated, hand-broken, or from a newer version."""


class ImportFormatError(FileFormatError):
    """A tool's description of a machine is not one, is truncated, or leaves out what is needed."""


class ExportError(SyncollError):
    """A format, or the dialect that was chosen, cannot express an algorithm."""


class VerificationError(SyncollError):
    """An algorithm does not do what its instance demands."""


class UncheckedError(VerificationError):
    """Nothing wrong was found, but not everything could be checked; the message says what."""


class ExecutionError(SyncollError):
    """A run on real processes did not come to its end: one died, failed, or took too long.

    Args:
        message: which, and what is known about it.
        timed_out: whether a time limit ended it.
    """

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class OutOfTimeError(SyncollError):
    """A limit of time was reached; what was being computed is left out, and claims nothing."""


class PluginError(SyncollError):
    """A plugin is missing, broken, or registered twice."""


class OptionError(PluginError):
    """A plugin option is unknown, of the wrong type, or out of its range."""


class UnknownPluginError(PluginError, KeyError):
    """No plugin of this name can be used: it is not there, broken, or there are two."""

    __str__ = Exception.__str__  # a KeyError's text is in quotes


class BackendError(SyncollError):
    """A backend answered something that cannot be true (a bug in it, or in its adapter)."""
