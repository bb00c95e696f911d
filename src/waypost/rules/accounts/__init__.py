"""Policies, dossier fields and quick replies of an org."""
