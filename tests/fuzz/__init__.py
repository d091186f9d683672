"""Random programs under random schedules, executed three ways that must agree: `python -m tests.fuzz --programs 10000`.

A program is the text of a script (`program`), written by `algorithms`, `expressions` and `schedules`; `execute` runs it
as its definitions say, as its loop nest says and as machine code; `shrink` makes it small where they differ; `campaign`
runs many in child processes.
"""
