"""The reference meaning of algorithms: an interpreter and the validity rules."""
