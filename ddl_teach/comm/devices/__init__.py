"""Arrays on a device: who copies their bytes, and which of the GPUs is whose."""
