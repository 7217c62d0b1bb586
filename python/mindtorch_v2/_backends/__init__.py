"""What a backend shows to Python beyond its ops."""
