// Package actions serves ActionsService, the door through which the process of a parent task enqueues its children and
// learns how they end. It keeps nothing: admission and state are runs', reached through Connect clients; what is done
// here is to give each outcome the answer that keeps the SDK healthy. Its sub-package bridge turns assignments into
// TaskAction objects. QueueService and StateService, which older clients call, are adapters over the same use cases.
package actions
