"""Files of earlier versions are read with their old meaning, and keep their digests."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from syncoll.documents import frontier_document, read_file
from syncoll.documents.document import digest
from syncoll.errors import VerificationError
from syncoll.proofs.refutation import check_refutation
from syncoll.trust.claims import check_claims
from syncoll.version import __version__

BEFORE = Path(__file__).parent / "before"
FRONTIERS = sorted(BEFORE.glob("frontier_*.json"))


@pytest.mark.parametrize("path", FRONTIERS, ids=lambda path: path.stem)
def test_a_frontier_is_read_and_would_be_written_again(path: Path) -> None:
    stored = read_file(path)
    before = json.loads(path.read_text("utf-8"))
    assert before["digest"] == digest(before)
    again = frontier_document(stored.claims())
    for point in before["points"]:  # sizes are not kept in memory
        point.pop("variables", None)
        point.pop("constraints", None)
    for point in again["points"]:  # older files do not have them
        assert point.pop("messages")
    again["digest"] = digest(again)
    before["version"] = __version__
    assert again == {**before, "digest": digest(before)}
    if stored.claims().evidence is not None:  # members of families did not count as known then
        check_claims(stored.claims())
        newer = replace(stored.claims(), counts_members=True)
        if newer.families:
            with pytest.raises(VerificationError, match="the open regions"):
                check_claims(newer)


def test_outcomes_are_read() -> None:
    for verdict, algorithms in (("sat", 1), ("unsat", 0)):
        stored = read_file(BEFORE / f"outcome_{verdict}.json")
        assert stored.document["verdict"] == verdict
        assert (len(stored.algorithms), len(stored.instances)) == (algorithms, 1)


def test_a_refutation_of_other_clauses_is_refused(tmp_path: Path) -> None:
    """Version 0.2 writes sums as other clauses."""
    for path in BEFORE.glob("ring-*"):
        shutil.copy(path, tmp_path)
    (refutation,) = tmp_path.glob("*.refutation.json")
    with pytest.raises(VerificationError, match=r"syncoll 0\.1\.0.*write the proof anew"):
        check_refutation(refutation)
