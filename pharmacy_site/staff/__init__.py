"""Staff accounts: sign-in, second factor, idle end, and the consent that access needs."""
