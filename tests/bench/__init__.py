"""What `make bench` measures. Figures only: nothing here asserts a time."""
