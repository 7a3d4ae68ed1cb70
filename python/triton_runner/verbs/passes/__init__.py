"""The passes of a compilation: what each changes, and how long it takes."""
