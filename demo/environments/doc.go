// Package environments keeps the Python environments that stand for images on this machine. An environment belongs to the
// tag of an image, which is a digest of the image's layers. It is made in a directory of its own, at the path where it
// stays, since environments contain their path. A record that appears at once makes it the environment of its tag. So a
// maker that dies leaves a directory that nothing names, and a broken environment is replaced while tasks still run in it.
//
// The directory has
//
//	tags/TAG.json    the record of a tag; its time is that of the last use
//	made/HALF-X/     environments, by half of the tag: venv, the files that the image copies, and a list of all files
//	locks/TAG        held by the process that makes an environment of the tag
//	cache/           packages, from which files are linked into the environments
package environments
