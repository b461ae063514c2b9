"""Models: trees and networks, and how they get to pgmpy, into files, and back."""
