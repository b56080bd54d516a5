"""What a checkout has for makers of models: architectures in PyTorch, the way from their weights to a model's folder,
and the training of what ships, which need the extra ``train``; the page of the Python API, and JSON Schemas. Not
installed.

Read in this order: ``architectures``, ``export``, ``shipped``, ``schemas``, ``api_page``.
"""
