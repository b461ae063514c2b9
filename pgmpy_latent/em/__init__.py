"""The one EM of the project, and its estimators."""
