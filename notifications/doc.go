// Package notifications tells people and other systems how runs ended and what waits for them: by webhook, in the shapes
// that Slack and Teams take, and by e-mail. The runs service writes what happened to its outbox, in the transaction that
// ends the run. This service turns each entry into deliveries by the rules of the run and of the configuration, and makes
// each delivery at least once, with an id by which the receiver tells repetitions. A delivery that fails is retried with
// backoff and then given up, where people see it and can send it again. Nothing here ever blocks or changes a run.
package notifications
