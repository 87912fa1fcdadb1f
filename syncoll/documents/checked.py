"""The checked claims of a frontier as JSON."""

from typing import Any

from syncoll.trust.claims import Checked
from syncoll.values import picked


def checked_document(checked: Checked) -> dict[str, Any]:
    """The claims that hold, and the claims that a file alone cannot prove."""
    frontier, evidence = checked.frontier, checked.frontier.evidence
    proofs = [(point, frontier.proof(point)) for point in frontier.points]
    return {
        "schema": "syncoll/check/1",
        "topology": frontier.topology.name,
        "collective": frontier.collective,
        "fully_checked": not checked.unchecked,
        "not_checked": [picked(one, "kind what how") for one in checked.unchecked],
        "steps": frontier.least_steps,
        "bandwidth": str(frontier.least_bandwidth),
        "max_chunks": frontier.max_chunks,
        **picked(checked, "scales compared machine"),
        "points": [
            {
                **picked(point, "steps rounds chunks messages"),
                "bandwidth": str(point.bandwidth),
                "scope": None if proof is None or frontier.is_simple(point) else proof.scope_text,
                "bound": None if proof is None else str(proof.bound),
                "words": None if proof is None else proof.sentence(checked.proved_by_file),
            }
            for point, proof in proofs
        ],
        # One for each S with a bound, and one for any S.
        "bounds": len(evidence.proofs if evidence else ()) + (frontier.least_bandwidth > 0),
        "certificates": 0 if evidence is None else len(evidence.certificates),
        "refutations_checked": len(checked.proved_by_file),
        "refutations_on_word": [
            picked(one, "steps rounds chunks backend") for one in checked.on_word
        ],
    }
