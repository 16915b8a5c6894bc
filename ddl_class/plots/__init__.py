"""Every picture of the course, from plain data: a file for each unit or subject.

`frame` has the axes that all pictures are drawn on, `svg` drawings as text where matplotlib would
be too slow. A title states what there is to see; every axis names its unit; a picture carries a
sentence for those who cannot see it. The one look of all is `ddl_runtime.pictures.style`.
"""
