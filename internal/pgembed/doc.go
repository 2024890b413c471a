// Package pgembed runs a private Postgres as a child process: initdb once, then the server itself, reachable only
// through a socket in a directory of its own. It uses the machine's Postgres programs. The demo and pgtest stand on
// it; services never see more of it than a connection string.
package pgembed
