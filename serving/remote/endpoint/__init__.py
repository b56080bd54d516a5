"""Vision models behind an endpoint that speaks OpenAI's chat completions (vLLM, Ollama, llama.cpp, clouds): a picture
and a question go out, a label of the query's list comes back, or ``unknown``. Whatever the endpoint says is hostile.

Read in this order: ``terms``, ``question``, ``reply``, ``answer``, ``call_cost``,
``caller``, ``vision_model``, ``endpoints_client``.
"""
