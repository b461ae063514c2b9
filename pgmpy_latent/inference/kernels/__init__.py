"""The compiled code: arrays in, arrays out."""
