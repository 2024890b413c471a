// Package taskactions owns TaskAction objects, from creation to deletion. Every live action has one, and no other
// action has: the row is the intent. The owner is level-triggered: a stream delivers changes, and at every
// subscription all live actions are compared with all objects, so that a lost message does no harm. The executor
// works on the objects and reports when it is done with one; only the owner deletes them. One replica owns the
// objects at a time.
package taskactions
