"""The search for Pareto frontiers between latency cost S and bandwidth cost R/C."""

from typing import TYPE_CHECKING

from syncoll.lazy import lazily

if TYPE_CHECKING:
    from syncoll.searching.agenda import OUT_OF_MEMORY as OUT_OF_MEMORY
    from syncoll.searching.answers import AnswerSource as AnswerSource
    from syncoll.searching.baseline import constructed as constructed
    from syncoll.searching.chosen_seed import ChosenSeed as ChosenSeed
    from syncoll.searching.frontiers import search as search
    from syncoll.searching.heuristics import Seeding as Seeding
    from syncoll.searching.point import decided_as as decided_as, solve_one as solve_one
else:  # a single question needs only a part of it
    __getattr__ = lazily(__name__)
