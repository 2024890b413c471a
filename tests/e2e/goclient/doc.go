// Package goclient is a client in Go, as users write one: the end-to-end tests in it reach a server through generated clients, by
// Connect over HTTP/1.1 and h2c and by gRPC with gRPC's own library. The server is the one that FLYTE_ENDPOINT names, or
// else a demo that the tests start. The client knows nothing of the product but its wire contract.
package goclient
