"""What the streams of the job catalogue read: seeded, numbered records, and by plain computation what must come of them.

One module an input. Each has `TOPIC`, `records(*, seed, count, shares)`, which gives exactly `count` records, the same for the
same arguments, `expected_dead_letters(records)`, the malformed ones, and further `expected_…` functions: plain Python over the
records, which shares no code with the jobs.

Shapes. All values but those of `words` are one JSON object in UTF-8. A time is text in ISO 8601, UTC, milliseconds:
`2026-01-01T08:00:12.345Z`. An amount is a decimal with two digits as text, `"909.90"`. Keys are UTF-8 text; the key decides the
partition, so that the records of one key keep their order.

| module, topic       | key         | value |
|---------------------|-------------|-------|
| `words`             | line number | a line of text: words between blanks, to be compared in lower case |
| `customers`         | customer_id | {customer_id, name, email, country, updated_at}; a null value (tombstone) deletes the key |
| `events`            | user        | {event_id, type, user, amount, event_time}; type: page_view, purchase, signup, refund |
| `transactions`      | account     | {transaction_id, account, amount, country, event_time} |
| `sensor_readings`   | device      | {device, value, user, event_time}; value: a number in steps of 0.25: exact sums |
| `clicks`            | user        | {click_id, user, page, event_time} |
| `purchases`         | user        | {purchase_id, user, amount, event_time} |
| `impressions`       | ad_id       | {impression_id, ad_id, cost, event_time}; cost: an amount |
| `ad_clicks`         | ad_id       | {ad_click_id, ad_id, event_time} |
| `category_orders`   | category    | {order_id, category, amount, event_time} |
| `order_files`       | files       | {order_id, customer, amount, status, event_time} in `json/`, `csv/`, `parquet/` |

All fields are text, but `value` above and `order_id` of `order_files` (a whole number). Ids are text such as `e-000012`.
`transactions` also gives the tables that its alerts are raised from, `rules()` and `accounts(count=…)`; `order_files` gives
`files(…)`, to be put into a folder by `put`, in waves too.

Malformed (`malformed.py`), in turn: not JSON (cut off in a string); a field missing; a field of a wrong type (a time or a
number that is none); no value (null, of `customers` an empty text); two objects in one value; a text that is not valid UTF-8.
Every one belongs into the dead letters and nothing else does. Of `words` only a null value and invalid UTF-8 are malformed.

Waves. `InputRecord.wave` counts from 0: a wave may be sent only after all waves before it were *processed*. Then what is
expected does not depend on where batches end, as long as the job's watermark is `WATERMARK`, 10 minutes (`timetable.py`; a longer
one, up to 30 minutes, gives the same):

- the records of one wave lie within 6 minutes of event time, waves 15 minutes apart;
- an out-of-order record is older than one sent before it, and never behind the watermark;
- a late record comes in a wave after the first, two hours behind: behind the watermark by more than any window (10 min), gap
  (30 min) or time bound of a join (30 min) of the catalogue. Where a job has a watermark, it is dropped for certain;
- a duplicate repeats key and value of a record of its own wave;
- the last record of an input has a wave of its own, three hours ahead: it closes all windows, sessions and joins before it.

`waves` splits records into their waves, `sending.send` sends one. Inputs that are joined (`clicks` with `purchases`,
`impressions` with `ad_clicks`) share the timetable: wave n of both goes out together.
"""

from streamops_sandbox.inputs.record import USUAL, InputRecord, Shares, waves

__all__ = ["USUAL", "InputRecord", "Shares", "waves"]
