// Package podstatus reads the state of an attempt from the status of a pod: phases, times, log contexts and links, and the
// diagnosis of what went wrong, in the terms of attempts/failure. Every plugin whose attempts run in pods uses it, so that
// all of them judge pods alike. It only reads.
package podstatus
