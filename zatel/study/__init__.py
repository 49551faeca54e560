"""The paper's evaluation as a program: the studies behind its Figures 10, 11, 13 to 20 and Table III.

In the order of the files: ``points`` says what is predicted, ``execute`` predicts it from one trace after the other,
``published`` holds what the paper's text says, ``summaries`` condenses rows into the numbers of figures, ``draw``,
``figures`` and ``scenes`` draw them, ``findings`` compares what the paper found with what is found here, ``pages``
writes it down, ``command`` is the verb.
"""
