"""Data types shared by all layers: frozen, typed, with no imports from other layers."""
