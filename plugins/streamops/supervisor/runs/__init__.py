"""Bounded runs: a query that reads what its source holds and ends; of a scheduled stream, or in a live query's place."""
