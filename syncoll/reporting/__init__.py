"""A report: one page that shows a frontier, what it does on the network, and what proves it.

::

    from syncoll.reporting import Subject, Times, page

    subject = Subject.of_frontier(frontier, checked)
    times = Times.of(subject, CostModel(alpha, bandwidth), "given", "given")
    Path("report.html").write_text(page(subject, times))

What is drawn is one JSON (`content`), in which costs are exact fractions and arrays are packed; the
rest is HTML, style sheets and scripts in ``assets``, which are put into the page as they are.
"""

from syncoll.reporting.designs import design_report
from syncoll.reporting.figures import figure_files, figures
from syncoll.reporting.page import framed, page
from syncoll.reporting.subject import Entry, Subject
from syncoll.reporting.times import (
    ASSUMED_ALPHA,
    ASSUMED_BANDWIDTH,
    Rival,
    Simulated,
    Times,
)

__all__ = [
    "ASSUMED_ALPHA",
    "ASSUMED_BANDWIDTH",
    "Entry",
    "Rival",
    "Simulated",
    "Subject",
    "Times",
    "design_report",
    "figure_files",
    "figures",
    "framed",
    "page",
]
