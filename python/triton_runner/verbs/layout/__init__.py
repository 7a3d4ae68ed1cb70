"""What an encoding means, as text and as a picture."""
