// Package mcp lets agents use an installation through the Model Context Protocol: they find runs, learn why one failed or waits,
// read its logs, data and code and, where that is allowed, rerun, recover and abort runs and answer conditions.
//
// Every tool is one file. It calls the API as the client of the request would, with that client's credential, so an agent may do
// what its token may do and nothing else, and everything it does is limited and recorded as any other call.
package mcp
