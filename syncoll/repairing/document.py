"""Repairs and surveys as JSON, without proofs; a frontier has a file of its own."""

from typing import Any

from syncoll.repairing.cost_delta import Loss, Repair
from syncoll.repairing.survey import FailureKind, Survey
from syncoll.results import Frontier
from syncoll.values import picked


def repair_document(repair: Repair) -> dict[str, Any]:
    """The damage, and the losses for each number of steps."""
    machine, frontier = repair.machine, repair.frontier
    return {
        "schema": "syncoll/repair/1",
        "topology": machine.whole.name,
        "collective": repair.whole.collective,
        "without": [d.words for d in machine.damages if d.factor is None],
        "slow": [d.words for d in machine.damages if d.factor is not None],
        "nodes": list(machine.nodes),
        "damaged": {"topology": machine.topology.name, "collective": frontier.collective},
        "least_steps": {"whole": repair.whole.least_steps, "now": frontier.least_steps},
        "losses": [loss_entry(one) for one in repair.losses],
        **picked(frontier, "complete interrupted"),
        "seconds": round(frontier.seconds, 6),
    }


def loss_entry(loss: Loss) -> dict[str, Any]:
    """A loss; fractions are texts, shares are numbers."""
    texts = {"whole": loss.whole, "now": loss.now, "bound": loss.bound}
    shares = {"lost": loss.lost, "lost_for_good": loss.lost_for_good, "gap": loss.gap}
    return {
        "steps": loss.steps,
        **{name: None if value is None else str(value) for name, value in texts.items()},
        **{name: None if value is None else float(value) for name, value in shares.items()},
        "found_by": loss.found_by,
    }


def survey_document(survey: Survey) -> dict[str, Any]:
    """Every failure with its losses."""
    each = [(one, one.repair) for one in survey.surveyed]
    return {
        **survey_head(survey.whole, survey.kind),
        "failures": [
            {
                "broken": one.words,
                "alike": one.failure.images,
                "refused": one.refused or None,
                "left_out": one.left_out or None,
                "least_steps": None if repair is None else repair.frontier.least_steps,
                "losses": [loss_entry(loss) for loss in repair.losses] if repair else [],
            }
            for one, repair in each
        ],
        **picked(survey, "complete interrupted"),
        "seconds": round(survey.seconds, 6),
    }


def survey_head(whole: Frontier, kind: FailureKind) -> dict[str, str]:
    """The head of the document, which is known before the survey."""
    return {
        "schema": "syncoll/survey/1",
        "topology": whole.topology.name,
        "collective": whole.collective,
        "kind": str(kind),
    }
