"""The choice of a network to build: candidates, their costs, and proved bounds for each of them."""

from syncoll.designing.candidates import BuildCosts, MachineCandidate
from syncoll.designing.design import Assessed, Design, Proved, Question

__all__ = ["Assessed", "BuildCosts", "Design", "MachineCandidate", "Proved", "Question"]
