"""Lower bounds on rounds, exact and with certificates that need no solver to check."""

from syncoll.bounds.demand import Demand, demands, same_shape
from syncoll.bounds.prices import PriceCertificate, Share
from syncoll.bounds.rounds import RoundsBound, rounds_bound

__all__ = [
    "Demand",
    "PriceCertificate",
    "RoundsBound",
    "Share",
    "demands",
    "rounds_bound",
    "same_shape",
]
