"""What lies around a checkpoint: the sink that its query writes to, and the table or folder that it reads."""
