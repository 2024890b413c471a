// Package resident reduces the memory that the program itself occupies. A start reads most of a large program: tables of types,
// descriptions of messages, code that runs once. What runs later needs less than half of it.
package resident
