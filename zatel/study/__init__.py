"""The paper's evaluation as a program: the studies behind its Figures 10, 11, 13 to 20 and Table III.

In the order of the data flow: ``points`` lists the predictions, ``execute`` makes them trace by trace, ``published``
holds the numbers of the paper's text, ``summaries`` condenses rows into the numbers of figures, ``draw``, ``figures``
and ``scenes`` draw them, ``findings`` tests the paper's findings, ``pages`` writes the pages, ``command`` is the verb.
"""
