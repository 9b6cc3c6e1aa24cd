"""Facts on disk of a Structured Streaming checkpoint, read without Spark: names-only listings and bounded reads."""
