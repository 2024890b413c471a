// Package pgembed runs a private Postgres as a child process: initdb once, then the server itself, reachable only
// through a socket in a directory of its own. It uses the machine's Postgres programs. The demo and pgtest use
// it; services see only a connection string.
package pgembed
