"""Observe → decide → act: the same supervision for Airflow, for `streamops supervise` and for tests."""
