"""Networks as resources: the catalogue of models, preprocessing, and the inference engine."""
