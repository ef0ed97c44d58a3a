"""The families of generated problems, by level. A family draws one problem from a generator."""
