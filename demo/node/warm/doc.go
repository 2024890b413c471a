// Package warm starts Python tasks from a process that has imported the SDK, so that they begin without the cost of the
// import. A warm parent is such a process, one for each combination of Python environment and variables that count at an
// import. Its program is parent.py; docs/warm-starts.md explains the design and what starts cold.
//
// The package decides nothing about containers: package node asks for a fork of a command and starts it cold when the
// answer is a reason.
package warm
