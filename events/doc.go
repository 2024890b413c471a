// Package events carries what executors observe to the runs service. Any number of callers report at once; their
// reports share calls of EngineService.RecordTransitions, and each caller waits for the commit of its own. It stands
// between executor, which reports through Sink, and runs, which owns EngineService; EventsProxyService is the same
// entry for executors elsewhere.
package events
