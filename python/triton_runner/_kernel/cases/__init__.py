"""Takes launches as cases: seen while a program runs, judged, put into a file, run again.

- capture, case, archive, tensors, source, bundle, repro, page: a case and its file
- judge, severity, noise, results, fingerprint: the verdict on a launch and how far its results may vary
- copies, reach, masks: what a finding comes from

It is described in doc/reference/cases.md."""
