"""A model behind an OpenAI-compatible API, through the official SDK; imported only if configured."""
