"""Rows of the store: algorithms, certificates and answers as bytes, with a digest.

Algorithms are compressed columns of the narrowest integers: less than half the size of compressed
JSON, and read twice as fast.  Certificates are the records of files, as compressed JSON.  The first
byte names the form.

The verifier detects a wrong algorithm, but not a wrong "unsat" or "unknown".  So every row has a
digest of its key and contents, which detects changes by accident, though not a forged digest.
"""

import hashlib
import json
import zlib
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from syncoll.certificates import Priced, RoundsBound
from syncoll.documents.certificates import CertificateRecord, bound_of, certificate_record
from syncoll.documents.record import ClosedRecord, read_record, written
from syncoll.errors import FileFormatError, ModelError
from syncoll.formula import FormulaSize, Limits, StopReason, Verdict
from syncoll.model import Algorithm
from syncoll.store.answers import StoredAnswer

_COLUMNS = b"\x01"
_RECORD = b"\x02"  # certificates of form 1 no longer answer

_MOST_BYTES = 1 << 30
"""The limit of an unpacked row: a few bytes may unpack to more than the memory."""

_TYPES = ("<u1", "<u2", "<u4", "<i8")

# Errors on reading a damaged row.
_DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    msgspec.MsgspecError,
    zlib.error,
    ModelError,
)


def pack_algorithm(algorithm: Algorithm) -> bytes:
    """An algorithm as bytes."""
    columns = algorithm.sends.T
    types = [_narrowest(column) for column in columns]
    head = {"rounds": list(algorithm.rounds_per_step), "sends": len(columns[0]), "types": types}
    parts = [
        np.ascontiguousarray(column).astype(kind).tobytes()
        for column, kind in zip(columns, types, strict=True)
    ]
    if algorithm.contributions is not None:
        head["nodes"] = algorithm.contributions.shape[1]
        parts.append(np.packbits(algorithm.contributions, axis=1).tobytes())
    return _COLUMNS + zlib.compress(b"\n".join([json.dumps(head).encode(), b"".join(parts)]))


def unpack_algorithm(data: bytes) -> Algorithm:
    """The algorithm of `pack_algorithm`; still to be verified.  Raises `FileFormatError` if the
    bytes are no algorithm."""
    try:
        head, _, body = _unpacked(data, _COLUMNS).partition(b"\n")
        shape = json.loads(head)
        count, at = int(shape["sends"]), 0
        columns = []
        for kind in shape["types"]:
            if kind not in _TYPES:
                raise ValueError(kind)
            columns.append(np.frombuffer(body, kind, count, at).astype(np.int64))
            at += columns[-1].size * np.dtype(kind).itemsize
        carried = None
        if "nodes" in shape:
            width = (int(shape["nodes"]) + 7) // 8
            packed = np.frombuffer(body, np.uint8, count * width, at).reshape(count, width)
            carried = np.unpackbits(packed, axis=1, count=int(shape["nodes"])).astype(bool)
            at += packed.size
        if at != len(body):
            raise ValueError(at)
        rounds = tuple(int(r) for r in shape["rounds"])
        return Algorithm(rounds, np.stack(columns, axis=1), carried)
    except _DAMAGE as error:
        raise FileFormatError(f"a stored algorithm cannot be read: {error}") from error


def pack_certificate(certificate: Priced) -> bytes:
    """A certificate as bytes."""
    # Its demands are in the question, and its bound is computed anew.
    record = certificate_record(RoundsBound(Fraction(0), certificate.steps, certificate), shape=0)
    return _RECORD + zlib.compress(json.dumps(written(record), separators=(",", ":")).encode())


def unpack_certificate(data: bytes) -> Priced:
    """The certificate of `pack_certificate`; still to be checked.  Raises `FileFormatError` if the
    bytes are no certificate."""
    try:
        document = json.loads(_unpacked(data, _RECORD))
    except _DAMAGE as error:
        raise FileFormatError(f"a stored certificate cannot be read: {error}") from error
    record = read_record(document, CertificateRecord, "a stored certificate")
    certificate = bound_of(record).certificate
    if certificate is None or certificate.argument.of_sums:
        raise FileFormatError(f"a stored certificate by {document['method']}")
    return certificate


class _LimitsRecord(ClosedRecord, frozen=True):
    """The limits that decide whether an unknown may be used again."""

    seconds: float | None
    memory_bytes: int | None
    threads: int
    seed: int


class _DetailsRecord(ClosedRecord, frozen=True):
    """The details of an answer: all except its verdict and algorithm."""

    encoding: str
    backend: str
    size: FormulaSize
    lowered_size: FormulaSize
    seconds: dict[str, float]
    message: str
    reason: StopReason
    limits: _LimitsRecord


def answer_details(answer: StoredAnswer) -> str:
    """The details of an answer as JSON."""
    record = msgspec.convert(answer, _DetailsRecord, from_attributes=True)
    return json.dumps(msgspec.to_builtins(record, order="sorted"))


def answer_from_row(verdict: str, algorithm: Algorithm | None, details: str) -> StoredAnswer:
    """The answer of a row.  Raises `FileFormatError` if the details are no JSON of
    `answer_details`."""
    try:
        entries = asdict(msgspec.convert(json.loads(details), _DetailsRecord))
        limits = Limits(**asdict(entries.pop("limits")))
        return StoredAnswer(Verdict(verdict), algorithm, **entries, limits=limits)
    except _DAMAGE as error:
        raise FileFormatError(f"a stored answer cannot be read: {error}") from error


def digest(*values: object) -> bytes:
    """SHA-256 of a row's values (bytes, texts, numbers, None), each with its kind and length."""
    whole = hashlib.sha256()
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode()
        whole.update(f"{type(value).__name__} {len(data)}:".encode())
        whole.update(data)
    return whole.digest()


def _unpacked(data: bytes, form: bytes) -> bytes:
    if data[:1] != form:
        raise ValueError(f"an unknown form {data[:1]!r}")
    stream = zlib.decompressobj()
    plain = stream.decompress(data[1:], _MOST_BYTES)
    if not stream.eof or stream.unused_data:
        raise ValueError("it is cut short, or too long")
    return plain


def _narrowest(column: np.ndarray[Any, np.dtype[np.int64]]) -> str:
    if not column.size:
        return _TYPES[0]
    if column.min() < 0:
        return _TYPES[-1]
    highest = int(column.max())
    return next((t for t in _TYPES[:-1] if highest <= np.iinfo(t).max), _TYPES[-1])
