// Package imagebuild is the program of the demo's task build-image. It makes a Python environment of the description of an
// image with uv, on this machine and without containers, and writes what it does to its log: the log of the run.
package imagebuild
