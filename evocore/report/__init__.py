"""What people see of a run: the live page, the table and report at its end, and the picture.

`live.LiveView` shows a run while it works, `text.write_report` writes `report.md` and `report.png` into its directory,
`summary.read_summary` reads a directory back. Heavy libraries are imported only when they are used.
"""
