"""Windows and sessions: computed by hand, with the watermark of 10 minutes."""

from datetime import timedelta

from streamops_sandbox.inputs import InputRecord, clicks, sensor_readings
from streamops_sandbox.inputs.clicks import Session
from streamops_sandbox.inputs.sensor_readings import DeviceWindow
from streamops_sandbox.inputs.windows import windows_of
from support.input_records import at, bad, moment, sent


def reading(wave: int, device: str, value: float, user: str, time: str) -> InputRecord:
    return sent(wave, device, device=device, value=value, user=user, event_time=at(time))


def click(wave: int, click_id: str, user: str, page: str, time: str) -> InputRecord:
    return sent(wave, user, click_id=click_id, user=user, page=page, event_time=at(time))


def one_reading(device: str, start: str, end: str, value: float) -> DeviceWindow:
    return DeviceWindow(
        device=device,
        start=moment(start),
        end=moment(end),
        count=1,
        sum=value,
        avg=value,
        min=value,
        max=value,
        users=1,
    )


# --- sensor readings ----------------------------------------------------------

READINGS = [
    reading(0, "d-1", 1.5, "ana", "12:01"),
    reading(0, "d-1", 2.5, "ben", "12:04"),
    reading(0, "d-2", 7, "ana", "12:04"),
    reading(0, "d-1", -0.5, "ana", "12:02"),  # out of order
    bad(0, b'{"device": "d-1", "value": "warm"}'),
    reading(1, "d-1", 9, "eva", "12:20"),  # the watermark is 11:54 when it comes, 12:10 after it
    reading(2, "d-1", 100, "eva", "12:04"),  # late by its window of 5 minutes
    reading(2, "d-2", 3, "eva", "12:06"),  # late by 12:05 to 12:10; the window 12:05 to 12:15 still takes it
    reading(3, "d-9", 1, "eva", "13:00"),
]


def test_tumbling_windows_that_the_watermark_has_passed() -> None:
    assert sensor_readings.expected_tumbling(READINGS) == (
        DeviceWindow(
            device="d-1",
            start=moment("12:00"),
            end=moment("12:05"),
            count=3,
            sum=3.5,
            avg=3.5 / 3,
            min=-0.5,
            max=2.5,
            users=2,
        ),
        one_reading("d-1", "12:20", "12:25", 9.0),
        one_reading("d-2", "12:00", "12:05", 7.0),
    )


def test_with_open_windows_the_newest_is_there_too() -> None:
    extra = set(sensor_readings.expected_tumbling(READINGS, open_too=True)) - set(
        sensor_readings.expected_tumbling(READINGS)
    )

    assert extra == {one_reading("d-9", "13:00", "13:05", 1.0)}


def test_a_reading_lies_in_two_sliding_windows_and_counts_in_the_one_that_is_still_open() -> None:
    found = sensor_readings.expected_sliding(READINGS)

    assert [(w.device, w.start, w.count, w.sum) for w in found] == [
        ("d-1", moment("11:55"), 3, 3.5),
        ("d-1", moment("12:00"), 3, 3.5),
        ("d-1", moment("12:15"), 1, 9.0),
        ("d-1", moment("12:20"), 1, 9.0),
        ("d-2", moment("11:55"), 1, 7.0),
        ("d-2", moment("12:00"), 1, 7.0),
        ("d-2", moment("12:05"), 1, 3.0),
    ]


def test_dead_letters_of_readings() -> None:
    assert sensor_readings.expected_dead_letters(READINGS) == (READINGS[4],)


def test_windows_hold_their_start_and_not_their_end() -> None:
    size, slide = timedelta(minutes=10), timedelta(minutes=5)

    assert list(windows_of(moment("12:05"), size=size, slide=slide)) == [moment("12:05"), moment("12:00")]
    assert list(windows_of(moment("12:04:59"), size=size, slide=slide)) == [moment("12:00"), moment("11:55")]


# --- clicks -------------------------------------------------------------------

CLICKS = [
    click(0, "k-1", "ana", "/", "12:00"),
    click(0, "k-3", "ana", "/item", "12:20"),
    click(0, "k-2", "ana", "/search", "12:10"),  # out of order
    click(0, "k-4", "ben", "/help", "12:05"),
    click(1, "k-5", "ana", "/basket", "12:49:59"),  # less than 30 minutes after 12:20
    click(1, "k-6", "ben", "/", "12:35"),  # exactly 30 minutes after 12:05: another session
    click(2, "k-7", "ben", "/late", "11:00"),  # the watermark is 12:39:59
    bad(2, b"no click"),
    click(3, "k-8", "end", "/", "15:00"),
]


def test_sessions_end_by_a_gap_of_thirty_minutes() -> None:
    assert clicks.expected_sessions(CLICKS) == (
        Session(
            user="ana",
            start=moment("12:00"),
            end=moment("13:19:59"),
            pages=4,
            entry_page="/",
            exit_page="/basket",
        ),
        Session(user="ben", start=moment("12:05"), end=moment("12:35"), pages=1, entry_page="/help", exit_page="/help"),
        Session(user="ben", start=moment("12:35"), end=moment("13:05"), pages=1, entry_page="/", exit_page="/"),
    )


def test_with_open_sessions_the_last_is_there_too() -> None:
    assert [session.user for session in clicks.expected_sessions(CLICKS, open_too=True)] == ["ana", "ben", "ben", "end"]


def test_dead_letters_of_clicks() -> None:
    assert clicks.expected_dead_letters(CLICKS) == (CLICKS[7],)
