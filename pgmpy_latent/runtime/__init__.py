"""What every part runs on: arrays, files, settings, workers, checkpoints."""
