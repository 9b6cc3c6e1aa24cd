"""Writing one batch of `foreachBatch` so that it may come twice. What each piece promises, and what it needs for that:

| piece | a batch that runs again | needs |
|---|---|---|
| `append.append_once` | is recognised by its number and skipped | one call a table and batch, or a name for each |
| `merge.merge_by_key` | finds its rows there already | a key, and columns that tell the newest row of a key |
| `postgres.upsert_once` | is recognised by its number, in the transaction that writes it | one call a table and batch, a key |
| `files.replace_batch` | is written over what it wrote | one call a folder and batch |
| `kafka.publish` | is published again: at least once | consumers that know a record by its key |
| `rest.post_rows` | is posted again: at least once | an endpoint that knows the `Idempotency-Key` makes it once |

Spark runs a batch again with the same rows as long as the source gives the same records for the same offsets, and the job
computes nothing from the clock or from chance.
"""
