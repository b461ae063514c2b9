"""Tables: what their columns and rows say."""
