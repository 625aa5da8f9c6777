"""A complete study of the paper's six datasets, and its statistics."""

import pytest
from study_factory import make_results

from textspectra_study.page.findings import Findings


@pytest.fixture(scope="session")
def results():
    return make_results()


@pytest.fixture(scope="session")
def findings(results):
    return Findings(results)
