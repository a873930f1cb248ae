"""Hand-offs: who takes a case, until when, and how it ends. Refills and the chat open them; staff decide (S3)."""
