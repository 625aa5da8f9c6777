"""The numerical core: arrays in, clusters out."""
