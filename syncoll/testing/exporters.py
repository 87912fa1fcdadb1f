"""The requirements of exporters and their checkers: right files, and errors that are found."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import ClassVar

from syncoll.errors import ExportError, VerificationError
from syncoll.model import Instance
from syncoll.plugins import ExporterRecord, ExportRequest, resolve_options
from syncoll.runtime import export_verified
from syncoll.testing import kit
from syncoll.testing.instances import random_case

__all__ = ["EXPORTER_CHECKS", "ExporterConformance", "check_exporter"]

Files = Mapping[str, bytes]

_CASES = 12
_CASES_EACH = 4
_DAMAGES = 40


def _requests() -> Iterator[ExportRequest]:
    """Verified algorithms, combining or not, out of place and in place."""
    for seed in range(1, 1 + _CASES):
        instance, algorithm = random_case(random.Random(seed))
        in_place = seed % 3 == 2
        yield ExportRequest(f"case-{seed}", instance.collective, instance, algorithm, in_place)


def _exports(
    record: ExporterRecord, given: Mapping[str, object] | None = None
) -> Iterator[tuple[ExportRequest, Files]]:
    """Files that it writes and its checker passes, except algorithms outside of the format."""
    for request in _requests():
        try:
            yield request, export_verified(record, request, given or {}).exported.files
        except ExportError as error:
            kit.demand(bool(str(error)), "it rejects an algorithm without a reason")


def _refused(
    record: ExporterRecord, files: Files, instance: Instance | None = None, **given: object
) -> bool:
    """Whether the checker rejects files; any error except a `VerificationError` is a failure."""
    options = resolve_options(record.options, given, record.name)
    try:
        record.load_checker().check(files, options, instance)
    except VerificationError as error:
        kit.demand(bool(str(error)), "its checker rejects files without a reason")
        return True
    return False


def check_files(record: ExporterRecord) -> None:
    """Its files pass its checker, are the same each time, and are recognised."""
    found = 0
    for request, files in _exports(record):
        found += 1
        again = export_verified(record, request, {}).exported.files
        kit.demand(dict(files) == dict(again), f"{request.name}: it writes other files each time")
        known = [record.recognises(Path(name), text[:4096]) for name, text in files.items()]
        kit.demand(any(known), f"{request.name}: it does not recognise {', '.join(files)}")
    kit.demand(found > 0, "it exports none of the usual collectives")


def check_settings(record: ExporterRecord) -> None:
    """With every value of every option its files pass its checker."""
    for option in record.options:
        for value in kit.values(option):
            for request, files in islice(_exports(record, {option.name: value}), _CASES_EACH):
                kit.demand(len(files) > 0, f"{request.name} with {option.name} = {value}: no file")


def check_meant(record: ExporterRecord) -> None:
    """Its checker rejects files that perform another collective than their instance."""
    done = list(_exports(record))
    for (one, files), (other, _) in pairwise(done):
        a, b = one.instance, other.instance
        same = a.pre.shape == b.pre.shape and bool(
            (a.pre == b.pre).all() and (a.post == b.post).all()
        )
        if not (same and a.topology.num_nodes == b.topology.num_nodes):
            wrong = _refused(record, files, b)
            kit.demand(
                wrong, f"files for {one.collective} pass as {other.collective} of other chunks"
            )


def check_executed(record: ExporterRecord) -> None:
    """Its checker finds missing sends, even if its writer does not, and changed numbers.

    Files of an algorithm without one of its sends are wrong.  In files in ASCII most changed digits
    make an error.
    """
    refused = looked = 0
    rng = random.Random(7)
    for request, files in _exports(record):
        algorithm, instance = request.algorithm, request.instance
        name, content = max(files.items(), key=lambda item: len(item[1]))
        digits = [at for at, byte in enumerate(content) if byte in b"0123456789"]
        for at in rng.sample(digits, min(len(digits), 8)) if content.isascii() else ():
            other = rng.choice([digit for digit in b"0123456789" if digit != content[at]])
            changed = content[:at] + bytes([other]) + content[at + 1 :]
            looked += 1
            refused += _refused(record, {**files, name: changed}, instance)
        if instance.combining:
            continue
        needed = algorithm.without_useless_sends(instance)
        less = replace(needed, sends=needed.sends[: len(needed.sends) - 1])
        options = resolve_options(record.options, {}, record.name)
        try:
            files = record.load().export(replace(request, algorithm=less), options).files
        except (ExportError, VerificationError):
            continue
        kit.demand(
            _refused(record, files, instance), f"{request.name}: a missing send goes unnoticed"
        )
    kit.demand(
        refused >= looked / 2,
        f"of {looked} files with another digit its checker rejects only {refused}",
    )


def check_damage(record: ExporterRecord) -> None:
    """Its checker passes arbitrary bytes, or states the error in words.

    A missing file, an empty file, half a file and an additional file are always wrong.
    """
    request, files = next(_exports(record))
    name, content = max(files.items(), key=lambda item: len(item[1]))
    wrong: dict[str, Files] = {
        "no file": {},
        "an empty file": {**files, name: b""},
        "half a file": {**files, name: content[: len(content) // 2]},
        "an additional file": {**files, f"x-{name}": content},
    }
    for what, damaged in wrong.items():
        kit.demand(_refused(record, damaged, request.instance), f"its checker passes {what}")
    rng = random.Random(7)
    for _ in range(_DAMAGES):
        at, byte = rng.randrange(len(content)), bytes([rng.randrange(256)])
        for end, new in ((at + 1, byte), (at + rng.randint(1, 40), b"")):
            changed = content[:at] + new + content[end:]
            _refused(record, {**files, name: changed}, request.instance)


EXPORTER_CHECKS = kit.checks_of(__name__, kit.check_options, kit.check_light)
"""Every check by its name."""


def check_exporter(record: ExporterRecord) -> list[kit.Failure]:
    """Runs every check and returns the failures; an empty list is a pass."""
    return kit.failures(EXPORTER_CHECKS, record)


class ExporterConformance(kit.Conformance, checks=EXPORTER_CHECKS):
    """The checks as tests: subclass it and set `record`."""

    record: ClassVar[ExporterRecord]
