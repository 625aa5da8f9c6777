"""The groups of many files over time and by segment: counted file by file, and added up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...errors import UserError
from ...io.dates import Reading, Survey, joined_problems, notes_on_dates
from ..tally import Tally, notes_on_segments
from .partition import File, Job, count_partition, survey_partition
from .workers import Workers


def survey_files(job: Job, files: Sequence[File], workers: Workers) -> Reading:
    """Check that the files have the wanted columns, and decide how the dates of all of them are read."""
    if not (job.wanted.time or job.wanted.by or job.wanted.show):
        return Survey().reading()
    found = sum(workers.each(survey_partition, [(job, file) for file in files]), Survey())
    if job.wanted.time is not None and not found.readable:
        raise UserError(f"the column {job.wanted.time!r} holds no dates; all of its values are missing.")
    return found.reading()


def count_files(
    job: Job, files: Sequence[File], workers: Workers, reading: Reading, n_groups: int
) -> tuple[Tally | None, list[str]]:
    """Count the groups of all files; return the sums, and notes on what was left out."""
    wanted = job.wanted
    if wanted.time is None and not wanted.by:
        return None, []
    count = partial(count_partition, reading=reading, n_groups=n_groups)
    counted = workers.each(count, [(job, file) for file in files])
    parts = [one.part for one in counted]
    tally, notes = Tally.of(parts, wanted), []
    if wanted.time is not None:
        problems = joined_problems(one.problems for one in counted)
        notes += notes_on_dates(wanted.time, reading, sum(one.missing for one in counted), problems)
    return tally, [*notes, *notes_on_segments(parts, wanted.by), *tally.notes()]
