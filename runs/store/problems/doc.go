// Package problems stores the failures of tasks by their cause, over runs.
package problems
