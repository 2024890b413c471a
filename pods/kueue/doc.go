// Package kueue is what plugins know of Kueue, which keeps objects suspended until a queue admits them: which LocalQueue
// an attempt's object gets, and why Kueue has not admitted it yet.
package kueue
