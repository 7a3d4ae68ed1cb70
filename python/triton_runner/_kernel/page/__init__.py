"""Makes the page that shows a kernel at all levels. The source map between the levels is source_map.py beside
this folder.

It is described in doc/guide/see.md."""
