"""Operations suite for Spark Structured Streaming, orchestrated by Airflow."""

__version__ = "0.1.0"
