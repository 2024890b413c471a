// Package connector plays a connector in storms, and the system behind it that runs the jobs. A job follows the script of its
// action, as a process does: it takes its time, fails as often as it has to, and leaves outputs or an error. The system heeds
// idempotency keys, checks what it is sent, and can answer with errors, lose answers and forget jobs. Only the fault suite uses it.
package connector
