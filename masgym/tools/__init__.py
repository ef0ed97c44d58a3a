"""Tools that replies can call, and the driver that runs the calls."""
