"""What every route shares: authentication, errors, OpenAPI, the raw endpoints and the page."""
