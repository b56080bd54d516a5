"""Public architectures in PyTorch, and the way from their weights to an ONNX model. Imported only where something is
exported or trained.

Read in this order: ``names``, ``registry``, ``resnet``, ``mobilenet``, ``vgg``, ``cifar_resnet``, ``compact``,
``initialise``, ``convert``, ``export``, ``fx``.
"""
