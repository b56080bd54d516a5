"""Networks fitted to what a stream shows: the training of the recognisers that ship."""
