// Package archtest has no code: its tests enforce the rules of docs/architecture.md on the whole tree, as far as the linter
// cannot.
package archtest
