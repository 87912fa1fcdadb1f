"""The shipped library: the papers' collectives and machines, written in the spec language.

It registers like any other plugin: a folder of ``.syncoll`` files whose definitions can be used by
their bare names.
"""

from pathlib import Path

from syncoll.plugins import SpecLibraryRecord

RECORD = SpecLibraryRecord(
    name="syncoll",
    summary="the SCCL paper's collectives, and common machines and networks",
    folder=Path(__file__).parent,
)
