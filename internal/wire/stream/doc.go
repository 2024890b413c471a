// Package stream has both ends of a snapshot stream: a server sends everything that a client should know, a sentinel, and then
// changes; it repeats the sentinel as a heartbeat, and ends the stream after some minutes so that clients spread over replicas
// again. Client opens such a stream again and again; Pace times the loop of a server that sends one, and Hub wakes it when
// something changes. How a stream that ends early is answered is decided in internal/wire/rpc for all streams.
package stream
