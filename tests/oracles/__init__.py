"""Oracles for tests of several folders: truths by enumeration, the papers' topologies and
collectives, random collectives, and Hypothesis strategies."""
