"""What a batch costs and what a stream will need: judgements on progress and on figures given by hand. Pure."""
