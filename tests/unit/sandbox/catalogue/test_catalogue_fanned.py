"""Several sinks of one job: what each must have, and where one more is wrong."""

from collections import Counter

from streamops.spec import SinkSpec
from streamops.spec.sinks import SinkGuarantee
from streamops_sandbox.catalogue.case import Came
from streamops_sandbox.catalogue.cases import case_of
from streamops_sandbox.catalogue.outcome import Run, judge
from streamops_sandbox.inputs import events, transactions

FANOUT, FRAUD = case_of("events_fanout"), case_of("fraud_alerts")
RUN = Run(
    job="J5",
    stream="events_fanout",
    sink=SinkSpec(table="file:///t", guarantee=SinkGuarantee.AT_LEAST_ONCE),
    records=400,
    kills=1,
    seconds=1.0,
)


def expected_rows():
    return list(FANOUT.expected(FANOUT.sent(seed=1, count=400)))


def with_one_more(row):
    came = Came(rows=[*expected_rows(), row])
    return judge(RUN, came=came, expected=expected_rows(), dead_letters=(), expected_dead_letters=())


def test_each_event_is_in_a_table_and_in_a_file_and_those_of_two_types_elsewhere_too():
    sent = FANOUT.sent(seed=1, count=400)[events.TOPIC]
    of_type = Counter(event.type for event in events.expected_events(sent))

    sinks = Counter(row[0] for row in expected_rows())

    assert sinks["delta"] == sinks["files"] == of_type.total()
    assert sinks["kafka"] == of_type["purchase"]
    # The endpoint knows each by its id, however often the producer has repeated it.
    assert sinks["rest"] == len({e.event_id for e in events.expected_events(sent) if e.type == "refund"})


def test_a_row_that_a_topic_has_again_is_repeated_and_at_least_once_allows_it():
    again = next(row for row in expected_rows() if row[0] == "kafka")

    found = with_one_more(again)

    assert (found.wrong, found.repeated, found.is_good) == (0, 1, True)


def test_a_row_that_a_table_has_once_more_is_wrong_whatever_the_weakest_sink_allows():
    sink, number, *values = next(row for row in expected_rows() if row[0] == "delta")
    copies = sum(row[0] == "delta" and list(row[2:]) == values for row in expected_rows())

    found = with_one_more((sink, copies, *values))

    assert number == 0
    assert (found.wrong, found.repeated, found.is_good) == (1, 0, False)


def test_an_alert_is_expected_once_in_the_topic_and_once_at_the_endpoint():
    sent = FRAUD.sent(seed=1, count=400)
    rows = Counter(row[0] for row in FRAUD.expected(sent))
    alerts = transactions.expected_alerts(
        sent[transactions.TOPIC], rules=transactions.rules(), accounts=transactions.accounts(count=400)
    )

    assert rows["kafka"] == rows["rest"] == len(alerts) > 0
