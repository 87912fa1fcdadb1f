"""A report: one page that shows a frontier, what it does on the network, and what proves it.

::

    from syncoll.reporting import Subject, Times, page

    subject = Subject.of_frontier(frontier, checked)
    times = Times.of(subject, CostModel(alpha, bandwidth), "given", "given")
    Path("report.html").write_text(page(subject, times))

What is drawn is one JSON (`content`), in which costs are exact fractions and arrays are packed; the
rest is HTML, style sheets and scripts in ``assets``, which are put into the page as they are.
"""

from syncoll.reporting.designs import *
from syncoll.reporting.figures import *
from syncoll.reporting.page import framed as framed, page as page
from syncoll.reporting.subject import ReportEntry as ReportEntry, Subject as Subject
from syncoll.reporting.times import *
