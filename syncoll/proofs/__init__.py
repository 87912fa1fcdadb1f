"""Refutations: solvers' proofs that an algorithm does not exist, in files that others can check."""
