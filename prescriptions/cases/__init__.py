"""Show hand-offs to staff as cases, in a queue and one at a time, and let them decide; above refills and hand-offs."""
