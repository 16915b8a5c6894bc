"""What a run leaves behind: its ledger, its timeline, and the `Run` that holds both."""
