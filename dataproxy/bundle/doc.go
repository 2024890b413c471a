// Package bundle reads the archives in which clients ship the code of tasks. Archives are untrusted: nothing is
// unpacked to disk, everything is bounded, and entries that lead out of the archive are left out. The package calls
// no services: dataproxy passes in the bytes and the name of the function to find.
package bundle
