"""Runs statements: plans, named statements, migrations, group commit."""
