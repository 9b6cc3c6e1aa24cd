"""What Airflow keeps for others to reach a cluster with: its connections, in streamops' own words."""
