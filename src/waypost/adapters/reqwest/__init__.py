"""HTTP out, by pyreqwest."""
