"""Which topics a query reads, by their ids: what the control log remembers of them. Pure."""

from streamops.control.records import Adopted, Body, Claimed, TopicSeen

Topics = tuple[TopicSeen, ...]
"""In order of their names, each once."""


def topics_after(known: Topics, body: Body) -> Topics:
    """What is known once this record is there.

    A claim adds what its start found and keeps the rest, for the cluster may not have answered. Where a person accepted what
    is there, with a start or with an adoption, the topics from before count no longer: they may be the ones that were lost.
    """
    if isinstance(body, Adopted):
        return ()
    if not isinstance(body, Claimed):
        return known
    newest = {one.topic: one for one in (*(() if body.accepts_unsafe else known), *body.topics)}
    return tuple(newest[topic] for topic in sorted(newest))
