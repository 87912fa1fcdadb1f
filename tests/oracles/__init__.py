"""What tests of several folders hold results against: truths by enumeration, the papers' topologies
and collectives, random collectives, and Hypothesis strategies."""
