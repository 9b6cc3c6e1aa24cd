"""The whole system on one machine, under `.sandbox/`: broker, Airflow and order generator, on loopback only."""
