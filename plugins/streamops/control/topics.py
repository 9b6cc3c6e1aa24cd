"""Which topics a query reads, by their ids: what the control log remembers of them. Pure."""

from streamops.control.records import Adopted, Body, Claimed, Released, TopicSeen

Topics = tuple[TopicSeen, ...]
"""In order of their names, each once."""


def topics_after(known: Topics, body: Body) -> Topics:
    """What is known once this record is there.

    A claim adds what its start found and keeps the rest, for the cluster may not have answered. What was known before a
    person accepted what is there counts no longer: it may be of the topics that were lost.
    """
    if accepts_what_is_there(body):
        return ()
    if not isinstance(body, Claimed):
        return known
    newest = {one.topic: one for one in (*known, *body.topics)}
    return tuple(newest[topic] for topic in sorted(newest))


def accepts_what_is_there(body: Body) -> bool:
    """Whether a person says that the topics that are there now are the query's own.

    A plain release says that the stream may run again, not that another topic is the right one.
    """
    return isinstance(body, Adopted) or (isinstance(body, Released) and body.accepts_unsafe)
