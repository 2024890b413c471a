// Command program stands for the real one in tests: it builds in a second.
package main

import "os"

func main() { os.Exit(7) }
