"""The papers' tables, cell by cell: one script per table, one page of evidence."""
