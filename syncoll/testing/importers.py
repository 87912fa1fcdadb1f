"""The requirements of importers: machines from healthy texts, and clear errors for all others."""

import random
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from syncoll.errors import ImportFormatError
from syncoll.importing import import_machine, import_spec
from syncoll.plugins import Imported, ImporterRecord
from syncoll.testing import kit

__all__ = ["IMPORTER_CHECKS", "ImporterConformance", "check_importer"]

_MUTANTS = 80
_JUNK = (
    "",
    " \n",
    "no machine at all\n",
    "\0\x01\ufffd",
    "[" * 3000,
    '{"a": [1, {}]}',
    "<a><b/></a>",
)


class _Reading(NamedTuple):
    """An importer, and healthy texts that it reads."""

    record: ImporterRecord
    samples: Sequence[str]


def _read(record: ImporterRecord, text: str) -> Imported | None:
    """The machine; None if it is rejected in words, as a wrong text must be."""
    try:
        return import_machine(record, text, "a file")
    except ImportFormatError as error:
        kit.demand(bool(str(error)), "it rejects a text without a reason")
        return None


def check_samples(reading: _Reading) -> None:
    """Healthy texts are recognised, become the same machine each time, and a spec of it."""
    kit.demand(len(reading.samples) > 0, "there is no sample of its format")
    for text in reading.samples:
        kit.demand(reading.record.recognises(text), "it does not recognise a sample")
        one, two = (import_machine(reading.record, text, "a file") for _ in range(2))
        kit.demand(one.machine == two.machine, "a sample becomes another machine each time")
        import_spec(reading.record, text, "a file", name="sample")


def check_junk(reading: _Reading) -> None:
    """Texts that do not describe machines are rejected, in words, and not recognised."""
    for text in _JUNK:
        kit.demand(_read(reading.record, text) is None, f"it reads a machine from {text[:20]!r}")
        kit.demand(not reading.record.recognises(text), f"it recognises {text[:20]!r}")


def check_mutants(reading: _Reading) -> None:
    """Damaged texts are read or rejected in words; no damage leads to an error of another kind."""
    rng = random.Random(7)
    for text in reading.samples:
        for _ in range(_MUTANTS):
            lines = text.splitlines(keepends=True)
            at, place = rng.randrange(len(lines)), rng.randrange(len(text))
            damaged = rng.choice(
                (
                    "".join([*lines[:at], *lines[at + 1 :]]),
                    "".join([*lines[:at], lines[at], *lines[at:]]),
                    text[:place],
                    text[:place] + rng.choice("0-9 \t,:<>{}[]\"'é\0") + text[place + 1 :],
                    text[:place] + text[place + rng.randint(1, 30) :],
                )
            )
            _read(reading.record, damaged)
            reading.record.recognises(damaged)


IMPORTER_CHECKS = kit.checks_of(__name__, kit.check_options, kit.check_light)
"""Every check by its name."""


def check_importer(record: ImporterRecord, samples: Sequence[str]) -> list[kit.Failure]:
    """Runs every check and returns the failures; an empty list is a pass.

    Args:
        samples: healthy texts, at least one, as its tool prints them.
    """
    return kit.failures(IMPORTER_CHECKS, _Reading(record, samples))


class ImporterConformance(kit.Conformance, checks=IMPORTER_CHECKS):
    """The checks as tests: subclass it and set `record` and `samples`."""

    record: ClassVar[ImporterRecord]
    samples: ClassVar[Sequence[str]]
    """Healthy texts, at least one, as the tool prints them."""

    def subject(self) -> _Reading:
        """The record and the samples."""
        return _Reading(self.record, self.samples)
