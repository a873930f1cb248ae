"""Where the pharmacy is: stores, their opening hours, the towns people name, and distance."""
