"""Ranks as processes: started, given programs, watched and ended."""
