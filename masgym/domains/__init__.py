"""Domains: one folder each. They never import each other, nor a workflow."""
