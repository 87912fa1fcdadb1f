"""Exact lower bounds on rounds, with certificates that are checked without a solver."""

from syncoll.bounding.at_once import bound_at_once as bound_at_once, physical as physical
from syncoll.bounding.combining import combining_rounds_bound as combining_rounds_bound
from syncoll.bounding.rounds import *
