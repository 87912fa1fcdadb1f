"""Certificates of lower bounds on R: records that check themselves by counting.

Nothing here searches or solves; what finds them is in `syncoll.bounding`.
"""

from syncoll.certificates.certificate import Certificate, ProofObject, RoundsBound
from syncoll.certificates.classes import ChunkClass, ChunkClasses, Demand, DemandView, demands
from syncoll.certificates.completions import CompletionCase, CompletionCertificate
from syncoll.certificates.cuts import CutCertificate
from syncoll.certificates.gossip import GossipCertificate, GossipTree
from syncoll.certificates.partition import PartitionCertificate
from syncoll.certificates.prices import PriceCertificate, Share
from syncoll.certificates.switches import SwitchCertificate
from syncoll.certificates.trees import TreeCertificate

__all__ = [
    "Certificate",
    "ChunkClass",
    "ChunkClasses",
    "CompletionCase",
    "CompletionCertificate",
    "CutCertificate",
    "Demand",
    "DemandView",
    "GossipCertificate",
    "GossipTree",
    "PartitionCertificate",
    "PriceCertificate",
    "ProofObject",
    "RoundsBound",
    "Share",
    "SwitchCertificate",
    "TreeCertificate",
    "demands",
]
