// Package watches reads what watch streams send: where a watch begins, and what changed after an event. Each read uses an
// index and bounds its rows.
package watches
