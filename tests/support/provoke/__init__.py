"""Failures of real Spark, Kafka and Delta, made on purpose: the recorded half of `tests/data/exceptions`.

`.venv/bin/python -m support.provoke [FAMILY …]` (with PYTHONPATH=plugins:tests, as root, about ten minutes) makes them all
again and writes `tests/data/exceptions/recorded/<family>.json`. What was expected stands beside each provocation and
was written down before the text was seen.
"""
