// Package reconciler brings TaskActions to their end: it lets plugins run attempts, judges their outcome, decides about
// further attempts, and reports every change before it acts on it. It is driven by changes of TaskActions and of the
// plugins' objects; it polls nothing. It neither creates nor deletes TaskActions: it tells their owner when it is done
// with one.
//
// What must survive a restart is in the TaskAction's status and in the names of pods; the rest is a memory that can be
// lost. Reports are sent in the background, one at a time for each action, so that an outage of the runs service holds
// up no work: what happens meanwhile is reported when it is over.
package reconciler
