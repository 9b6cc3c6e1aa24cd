"""The rules of the catalogue, by what they are about. `diagnosis.judge` lists them in order."""
