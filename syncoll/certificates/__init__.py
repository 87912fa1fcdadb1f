"""Certificates of lower bounds on R: prices and an argument, which check themselves by counting.

Nothing here searches or solves; what finds them is in `syncoll.bounding`.
"""

from syncoll.certificates.certificate import Certificate, RoundsBound
from syncoll.certificates.chunk_classes import ChunkClass, ChunkClasses, Demand, DemandView, demands
from syncoll.certificates.completions import CompletionCase, Completions, Way
from syncoll.certificates.cut import Cut
from syncoll.certificates.gossip import Gossip, GossipTree
from syncoll.certificates.parts import Parts
from syncoll.certificates.priced import Argument, Priced
from syncoll.certificates.switches import Switches
from syncoll.certificates.trees import Trees
from syncoll.certificates.ways import Share, Ways

__all__ = [
    "Argument",
    "Certificate",
    "ChunkClass",
    "ChunkClasses",
    "CompletionCase",
    "Completions",
    "Cut",
    "Demand",
    "DemandView",
    "Gossip",
    "GossipTree",
    "Parts",
    "Priced",
    "RoundsBound",
    "Share",
    "Switches",
    "Trees",
    "Way",
    "Ways",
    "demands",
]
