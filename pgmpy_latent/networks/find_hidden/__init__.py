"""Where a network lacks a hidden variable."""
