"""Pipelines: trees that share the links in every step, with a new wave of chunks in each step.

CP-SAT chooses the trees of a broadcast together.  With a wave started in every step they use the
network's whole bandwidth, and few chunks are lost in the first and the last waves.  The result is
an algorithm for every number of waves.
"""

from syncoll.plugins import Answer, Option, SeedRecord, installed_distribution


def _installed() -> Answer:
    found = installed_distribution("ortools", "ortools")
    return installed_distribution("highspy", "highspy") if found.ok else found


RECORD = SeedRecord(
    name="pipelines",
    summary="waves of trees that fill every link, for any number of waves",
    load="syncoll_pipelines.seed:PipelineSeed",
    options=(
        Option("seconds", 3.0, "seconds of work for each packing of trees", low=0.01),
        Option("steps", 12, "most steps of a member that becomes a point", low=1),
        Option("cells", 30_000, "most trees times links times steps of a packing", low=1),
    ),
    installed=_installed,
    fits="syncoll_pipelines.seed:PipelineSeed.fits",
    first_seconds=0.5,
    resumes=True,
)
