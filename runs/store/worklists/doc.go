// Package worklists has the lists from which loops take their work: actions to admit, to run, to time out or to look up in
// the cache, webhooks to call, and events, notifications and artifacts to pass on.
package worklists
