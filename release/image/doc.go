// Command image packs the slim program into an OCI image for several platforms, without Docker: the program, certificates,
// accounts and nothing else. The same programs give the same digest. `make image` runs it.
package main
