"""The jobs of `config/catalogue.yaml` on trial: what each is sent, what must come of it, and many of them at once.

`cases` knows the jobs, `trial` the mechanics of one of them, `python -m streamops_sandbox.catalogue` runs those that are chosen.
"""
