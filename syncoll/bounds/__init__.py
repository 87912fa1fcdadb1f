"""Lower bounds on rounds, exact and with certificates that need no solver to check."""

from syncoll.bounds.certificate import Certificate
from syncoll.bounds.combining import combining_rounds_bound
from syncoll.bounds.cuts import CutCertificate
from syncoll.bounds.demand import Demand, demands
from syncoll.bounds.partition import PartitionCertificate
from syncoll.bounds.prices import PriceCertificate, Share
from syncoll.bounds.rounds import (
    ProofObject,
    RoundsBound,
    least_cut,
    rounds_bound,
    with_cut,
    with_trees,
)
from syncoll.bounds.shape import ChunkClass, Reading, Shape
from syncoll.bounds.trees import TreeCertificate

__all__ = [
    "Certificate",
    "ChunkClass",
    "CutCertificate",
    "Demand",
    "PartitionCertificate",
    "PriceCertificate",
    "ProofObject",
    "Reading",
    "RoundsBound",
    "Shape",
    "Share",
    "TreeCertificate",
    "combining_rounds_bound",
    "demands",
    "least_cut",
    "rounds_bound",
    "with_cut",
    "with_trees",
]
