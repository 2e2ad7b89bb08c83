"""Draws ``docs/report.svg``, what ``skipstack ablate`` has confirmed of a study::

skipstack search quickstart && skipstack ablate runs/quickstart
python docs/report.py runs/quickstart > docs/report.svg
"""

import sys
from dataclasses import replace
from pathlib import Path

from skipstack.dashboards.reports.pictures.report_picture import picture
from skipstack.dashboards.reports.study_report import study_report
from skipstack.search.analysis.study_frames import study_frames

if __name__ == "__main__":
    page = study_report(study_frames(Path(sys.argv[1])), confirmed=True).page
    rows, notes, *_ = page.groups  # without what it cost, which is another on each machine
    sys.stdout.write(picture(replace(page, groups=(rows, notes), details=())))
