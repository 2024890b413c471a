// Package environments stores the Python environments that the demo uses instead of container images. Each environment is keyed
// by the image's tag, a digest of its layers. It is built at its final path, because environments contain their own path,
// and published by renaming a record into place. A builder that crashes leaves only an unreferenced directory, and a broken
// environment can be replaced while tasks still run in it.
//
// The directory has
//
//	tags/TAG.json    the record of a tag; its time is that of the last use
//	made/HALF-X/     environments, by half of the tag: venv, the files that the image copies, and a list of all files
//	locks/TAG        held by the process that makes an environment of the tag
//	cache/           packages, from which files are linked into the environments
package environments
