"""Public architectures in PyTorch, and the way from their weights to an ONNX model.

Read in this order: ``registry``, ``resnet``, ``mobilenet``, ``vgg``, ``cifar_resnet``, ``compact``,
``initialise``, ``convert``, ``export``.
"""
