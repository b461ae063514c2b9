"""Which number of classes, and how sure a learned tree is."""
