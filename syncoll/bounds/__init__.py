"""Lower bounds on rounds, exact and with certificates that need no solver to check."""

from syncoll.bounds.combining import combining_rounds_bound, gossip_bound
from syncoll.bounds.demand import Demand, demands, same_shape
from syncoll.bounds.prices import PriceCertificate, Share
from syncoll.bounds.rounds import RoundsBound, rounds_bound

__all__ = [
    "Demand",
    "PriceCertificate",
    "RoundsBound",
    "Share",
    "combining_rounds_bound",
    "demands",
    "gossip_bound",
    "rounds_bound",
    "same_shape",
]
