"""The control log: who may write a checkpoint, and what was done about it.

    <checkpoint>.streamops/            a sibling of the checkpoint, never inside it
      log/00000000000000000017.json    one record a file, created exclusively, never changed, never deleted
      drivers/<epoch>-<instance>/      written by that driver alone
    <state_root>/registry/<stream>.json

`records` is the vocabulary, `log` reads and appends, `fold` says what the records mean, `drivers` reads what drivers
leave, `registry` knows every declared stream. Stdlib only: this package travels to the driver.
"""
