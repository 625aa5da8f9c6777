"""Planted groups, a complete study of the paper's six datasets, and its statistics."""

import pytest
from hypothesis import settings
from random_points import planted_rows
from study_factory import make_results

from textspectra_study.page.findings import Findings

# Times depend on the machine.
settings.register_profile("textspectra", deadline=None)
settings.load_profile("textspectra")


@pytest.fixture(scope="session")
def planted():
    return planted_rows


@pytest.fixture(scope="session")
def results():
    return make_results()


@pytest.fixture(scope="session")
def findings(results):
    return Findings(results)
