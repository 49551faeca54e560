"""glTF 2.0 documents: container, checks, meshes and where nodes place them, surfaces and pictures."""
