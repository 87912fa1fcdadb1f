"""The table of a design as JSON."""

from typing import Any

from syncoll.designing.design import Design
from syncoll.values import picked


def design_document(design: Design) -> dict[str, Any]:
    """The machines with their costs and bounds, without proofs."""
    ahead = design.behind()
    return {
        **design.question.index(),
        **picked(design, "complete interrupted"),
        "candidates": [
            {
                "topology": one.candidate.name,
                "same": list(one.candidate.same),
                "images": one.candidate.images,
                **picked(one.candidate.costs, "nodes ports links"),
                "link_bandwidth": str(one.candidate.costs.bandwidth),
                "bounds": {
                    name: {
                        "steps": found.steps,
                        "bandwidth": str(found.bandwidth),
                        "by_steps": [
                            {"steps": s, "bandwidth": str(low)} for s, low in found.by_steps
                        ],
                        "points": [{"steps": s, "bandwidth": str(cost)} for s, cost in found.found],
                    }
                    for name in design.collectives
                    for found in (one.bounds.get(name),)
                    if found is not None
                },
                "refused": dict(one.refused),
                "no_better_than": one.no_better_than,
                "behind": None if other is None else other.candidate.name,
            }
            for one, other in zip(design.assessed, ahead, strict=True)
        ],
        "others": None
        if design.others is None
        else {
            "pairs": design.others.pairs,
            "at_least": {k: str(v) for k, v in design.others.at_least.items()},
        },
        "shared_pairs": design.shared_pairs,
        "unseen": dict(design.unseen),
        "left_out": {
            family: {"members": count, "why": error.message}
            for family, (error, count) in design.left_out.items()
        },
    }
