// Package bridge makes TaskAction objects follow the assignments of the state machine: what is admitted and unfinished
// has one, everything else has none. It is level-triggered: a stream tells it what changes, and at every subscription the
// whole set is compared with the objects that exist, so that nothing depends on a message that was not lost. One
// bridge is active at a time. It is a part of actions that manager starts on its own; executor takes it from there.
package bridge
