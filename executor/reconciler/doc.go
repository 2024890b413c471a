// Package reconciler runs TaskActions to completion: it lets plugins run attempts, judges their outcome, decides about
// further attempts, and reports every change before it acts on it. Changes of TaskActions and of the plugins' objects
// drive it; it does not poll. It neither creates nor deletes TaskActions: it notifies their owner when one is finished.
//
// What must survive a restart is in the TaskAction's status and in the names of pods; the rest is in memory and can be
// lost. Reports are sent in the background, one at a time for each action, so that an outage of the runs service blocks
// no work: changes are reported when it is over.
package reconciler
