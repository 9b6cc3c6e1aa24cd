"""The command line: thin commands over the library. They need neither Airflow nor Spark."""
