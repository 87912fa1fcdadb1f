"""Pipelines: trees that share the links in every step, a wave of chunks after the other.

CP-SAT chooses the trees of a broadcast together, so that a wave started in every step uses the
network's whole bandwidth and few chunks are lost in the first and the last waves.  The result is an
algorithm for every number of waves.
"""

from __future__ import annotations

from syncoll.plugins import Answer, Option, SeedRecord, installed_distribution


def _installed() -> Answer:
    found = installed_distribution("ortools", "ortools")
    return installed_distribution("highspy", "highspy") if found.ok else found


RECORD = SeedRecord(
    name="pipelines",
    summary="waves of trees that fill every link, for every number of waves at once",
    load="syncoll_pipelines.seed:PipelineSeed",
    options=(
        Option("seconds", 3.0, "of work for each packing of trees", low=0.01),
        Option("steps", 12, "members of up to so many steps become points", low=1),
        Option("cells", 30_000, "trees times links times steps of the largest packing", low=1),
    ),
    installed=_installed,
    fits="syncoll_pipelines.seed:fits",
    first_seconds=0.5,
    resumes=True,
)
RECORDS = (RECORD,)
