"""Where units lead on to: each to something recent, and many to works of this year."""

import re
from collections import defaultdict

import pytest

from book.papers import LIST, citations, read, texts
from ddl_class.release.curriculum import LESSONS

PAPERS = read(LIST)


@pytest.fixture(scope="module")
def years():
    """Of each unit, the years of what its notebooks cite."""
    notebooks = [each for each in texts() if each[0].startswith("notebooks/source/")]
    of_unit = defaultdict(set)
    for citation in citations(PAPERS, notebooks):
        number = re.search(r"source/(\d\d)_", citation.place)[1]
        of_unit[number] |= {int(each.year) for each in PAPERS if citation.means(each)}
    return of_unit


@pytest.mark.parametrize("number", sorted(LESSONS))
def test_each_unit_leads_on_to_a_work_of_the_last_two_years(number, years):
    assert max(years[number]) >= 2025


def test_most_units_of_today_lead_on_to_this_year(years):
    newest = {number for number, them in years.items() if max(them) == 2026}
    assert {"21", "22", "23", "24", "25", "26"} <= newest
    assert len(newest) >= 14


def test_the_list_has_the_works_since_2021_that_were_asked_for():
    recent = [paper for paper in PAPERS if int(paper.year) >= 2021]
    assert len(recent) >= 60
