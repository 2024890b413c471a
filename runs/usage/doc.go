// Package usage keeps what attempts use of the machine as curves of bounded size, and answers questions about them: what an
// attempt used, and what a task should request.
package usage
