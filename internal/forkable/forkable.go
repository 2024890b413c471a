// Package forkable has what Python programs need that import the SDK once and fork tasks from themselves: the warm parents of
// the demo's node, and the workers of reusable environments.
package forkable

import _ "embed"

// Name is the name under which the programs expect the file in their own directory.
const Name = "forkable.py"

// Program is the file.
//
//go:embed forkable.py
var Program []byte
