"""Audit, figures and explanations for operators."""
