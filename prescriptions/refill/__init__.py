"""The refill workflow of S3: from a request to a dispensed order, or to a person."""
