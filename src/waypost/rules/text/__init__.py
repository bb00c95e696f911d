"""Reading and checking JSON and text."""
