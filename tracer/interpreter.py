"""placeholder"""
def interpret_ctas(*a): raise NotImplementedError
