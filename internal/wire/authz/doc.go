// Package authz is the authorization of calls, apart from their transport: who calls (Identity), what each procedure and
// route asks for (the tables of rules), what a request is about (Resource), and how much of it the caller may see (Scope).
// Package rpc enforces the decisions. The package imports neither rpc nor a service.
package authz
