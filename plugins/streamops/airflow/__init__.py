"""Airflow's side: thin. Everything that decides lives in `streamops.supervision`."""
