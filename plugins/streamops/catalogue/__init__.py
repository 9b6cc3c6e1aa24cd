"""The rules of the catalogue, by what they are about, and what they take for granted. `diagnosis.judge` lists them in order."""
