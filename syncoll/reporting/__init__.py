"""A report: one page that shows a frontier, its times, its traffic on the network and its proofs.

::

    from syncoll.reporting import Subject, Times, page

    subject = Subject.of_frontier(frontier, checked)
    times = Times.of(subject, CostModel(alpha, bandwidth), "given", "given")
    Path("report.html").write_text(page(subject, times))

The page draws one JSON (`content`) with costs as exact fractions and packed arrays.  HTML, style
sheets and scripts come from ``assets`` unchanged.
"""

from syncoll.reporting.designs import *
from syncoll.reporting.figures import *
from syncoll.reporting.page import framed as framed, page as page
from syncoll.reporting.subject import ReportEntry as ReportEntry, Subject as Subject
from syncoll.reporting.times import *
