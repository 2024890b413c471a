// Package bundle reads the archives in which clients ship the code of tasks. Strangers made them, so nothing is ever
// unpacked onto a disk, everything is bounded, and what would lead out of the archive is left out. It knows no services:
// dataproxy hands it the bytes and says which function it looks for.
package bundle
