def silu(*tensors):
    return None
