// Package sqltext has the parts of statements that several packages of the store use: enum values, predicates of partial
// indexes, planner settings, the lock of specs, and the narrowing of lists to what a caller may see.
package sqltext
