"""The ten tools: one file each, one registry, three envelopes (S0, S1, S2) over one set of domain services."""
