"""The doctor of a whole class: every account's findings on one page."""
