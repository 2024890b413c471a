// Package notices has the notifications that commits send through Postgres: the channels, their payloads and how to parse
// them.
package notices
