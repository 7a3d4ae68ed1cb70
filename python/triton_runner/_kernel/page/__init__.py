"""Makes the page that shows a kernel at all levels. The source map between the levels is source_map.py beside
this folder.

- report: the page as a whole; kernel_data, findings, pictures, profiles, opcodes: its parts

It is described in doc/guide/see.md."""
