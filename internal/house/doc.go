// Package house has no code: its tests hold the whole tree to the rules of the house, which docs/architecture.md
// states. It stands beside the linter, for what a linter cannot say.
package house
