// Package actions serves ActionsService, through which the process of a parent task enqueues its children and learns
// how they end, and owns the TaskAction objects of live actions (package taskactions). It keeps no state: admission
// and phases belong to the runs service, reached through Connect clients. The handlers map each outcome to the
// response that the SDK handles correctly. QueueService and StateService, which older clients call, are adapters over
// the same use cases.
package actions
