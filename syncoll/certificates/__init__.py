"""Certificates of lower bounds on R: records that check themselves by counting.

Nothing here searches or solves; what finds them is in `syncoll.bounding`.
"""

from syncoll.certificates.certificate import Certificate
from syncoll.certificates.cuts import CutCertificate
from syncoll.certificates.demand import Demand, demands
from syncoll.certificates.partition import PartitionCertificate
from syncoll.certificates.prices import PriceCertificate, Share
from syncoll.certificates.rounds import ProofObject, RoundsBound
from syncoll.certificates.shape import ChunkClass, Reading, Shape
from syncoll.certificates.trees import TreeCertificate

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
    "demands",
]
