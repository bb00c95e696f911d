"""The nouns: frozen, typed, importing nothing of ours."""
