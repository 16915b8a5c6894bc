"""What `on_a_gpu` and `device_messages` are made of: peers, parts, reports."""
