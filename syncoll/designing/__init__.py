"""Which network to build: candidates, what they cost, and what is proved about each of them."""

from syncoll.designing.candidates import BuildCosts, MachineCandidate
from syncoll.designing.design import Assessed, Design, Proved, Question

__all__ = ["Assessed", "BuildCosts", "Design", "MachineCandidate", "Proved", "Question"]
