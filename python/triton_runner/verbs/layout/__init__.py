"""Shows what an encoding means, as text and as a picture."""
