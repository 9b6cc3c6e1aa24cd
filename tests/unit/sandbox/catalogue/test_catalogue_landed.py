"""Files as an input: what is sent comes back out of the folder, and what must come of it is what the lines say."""

from streamops.settings import load_settings
from streamops_sandbox.catalogue import landed
from streamops_sandbox.catalogue.case import Place
from streamops_sandbox.catalogue.cases import case_of
from streamops_sandbox.catalogue.delivery import Delivery
from streamops_sandbox.catalogue.landed import LINES, WAVES
from streamops_sandbox.inputs import waves
from support.job_catalogue import CATALOGUE

STREAMS = ("files_etl", "files_etl_csv", "files_etl_parquet")
NOWHERE = "127.0.0.1:1"
"""Where no broker listens."""


def test_every_line_is_an_order_or_a_dead_letter():
    for case in map(case_of, STREAMS):
        sent = case.sent(seed=1, count=400)

        (files,) = sent.values()
        assert len(files) == 400 // LINES
        assert len(list(case.expected(sent))) + len(case.malformed(sent)) == 400


def test_a_few_lines_still_make_a_file_for_each_wave():
    for case in map(case_of, STREAMS):
        (files,) = case.sent(seed=1, count=10).values()

        assert len(waves(files)) == WAVES


def test_a_wave_is_put_into_the_folder_under_the_names_that_its_dead_letters_bear(tmp_path):
    case = case_of("files_etl_csv")
    (feed,) = case.feeds
    sent = case.sent(seed=1, count=400)
    (files,) = sent.values()
    first, *_ = waves(files)

    delivered = Delivery(bootstrap=NOWHERE, folders={feed.topic: tmp_path}).deliver(first)

    assert delivered == len(first)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(record.key.decode() for record in first)
    assert (tmp_path / first[0].key.decode()).read_bytes() == first[0].value
    assert {letter.key for letter in case.malformed(sent)} <= {record.key for record in files}


def test_dead_letters_are_known_by_the_file_that_they_come_from(monkeypatch, tmp_path):
    spec = load_settings(CATALOGUE, {"STREAMOPS_DATA": str(tmp_path)}).stream("files_etl")
    monkeypatch.setattr(landed, "table_rows", lambda table, column: [("file:///landing/orders/orders-0001.json",)])

    assert case_of("files_etl").letters(Place(spec=spec, bootstrap=NOWHERE)) == [
        ("json files", b"orders-0001.json", None)
    ]
