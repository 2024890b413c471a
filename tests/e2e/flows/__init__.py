"""Flows that the end-to-end tests run through the released SDK, grouped by what they show."""
