"""J13 on trial: each file counts once and each bad line is a dead letter, although the driver was struck in a batch of files."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


@pytest.mark.parametrize("stream", ["files_etl", "files_etl_csv", "files_etl_parquet"])
def test_each_file_counts_once(trial, stream):
    account = trial(stream).prove(case_of(stream), seed=13, count=2_000, kill_in=(1, 3))

    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
