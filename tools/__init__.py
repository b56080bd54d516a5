"""What a checkout has for makers of models: architectures in PyTorch, the way from their weights to a model's folder,
and the training of what ships. Not installed; it needs the extra ``train``.

Read in this order: ``architectures``, ``export``, ``shipped``.
"""
