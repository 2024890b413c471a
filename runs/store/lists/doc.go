// Package lists reads what clients ask about existing runs and actions: lists, details, histories, overviews and the results
// that a recovery reuses.
package lists
