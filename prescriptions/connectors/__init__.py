"""What other systems do for a refill: the health record (EHR) and the dispenser, behind one Protocol each."""
