"""Which topics a claim puts on record. Pure."""

from collections.abc import Sequence

from streamops.control.records import TopicSeen
from streamops.control.topics import Topics
from streamops.retention import Coverage
from streamops.retention.past import UNREAD


def topics_seen(coverages: Sequence[Coverage], *, is_accepted: bool) -> Topics:
    """The topics of the source as a start finds them, over all checkpoints of the stream; none where nobody was asked.

    Of a topic that may be another than the one that was read nothing is put on record, or the loss would be forgotten by a
    start that could not see it; where a person has accepted what is there, whatever is there counts.
    """
    ids = {topic: name for coverage in coverages for topic, name in coverage.topic_ids.items()}
    unread = {one.topic for coverage in coverages for one in coverage.partitions if one.standing in UNREAD}
    return tuple(TopicSeen(topic=topic, id=ids[topic]) for topic in sorted(ids) if is_accepted or topic not in unread)
