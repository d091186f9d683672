"""Engines that have data in parts. Each imports its library when it is asked for."""
