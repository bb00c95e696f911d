"""The endpoints of the Graph API."""
