"""What the sandbox keeps: business numbers, media and bounded logs."""
