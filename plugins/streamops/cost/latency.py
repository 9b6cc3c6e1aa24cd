"""How long a record takes from its source into the sink. Pure."""

from streamops.cost.figure import Estimate, Figure, Origin, lasting


def latency(interval: Figure, processing: Figure) -> Estimate:
    """The latency of a micro-batch query with a trigger interval, while it keeps up with its input.

    A record waits for the next trigger and is then processed with its batch. Where batches take longer than the interval, the
    next one begins when the one before has ended (ProcessingTimeExecutor, Spark 4.2.0), so it is that which a record waits for.
    """
    pace = max(interval.duration, processing.duration)
    notes = ["no record waits behind others: a query that is behind (`streamops lag`) adds its backlog"]
    if processing.duration > interval.duration:
        notes.append("batches take longer than the interval: each begins when the one before has ended")
    return Estimate(
        inputs=(interval, processing),
        results=(
            lasting("soonest", processing.duration, Origin.ESTIMATED, "for a record that comes just before a trigger"),
            lasting("minimum to plan with", pace, Origin.ESTIMATED, "from one batch to the next"),
            lasting(
                "maximum", pace + processing.duration, Origin.ESTIMATED, "for a record that comes just after a trigger"
            ),
        ),
        formula="minimum = the trigger interval, or processing where that is longer; maximum = minimum + processing",
        notes=tuple(notes),
    )
