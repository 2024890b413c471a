// Package layers fills configuration structs from layers: what the struct holds already (the defaults), then a YAML file, then
// environment variables, then overrides of the command line. It remembers where each value came from, and lists every
// problem at once, with its place and how to correct it. A field of a struct is a key if it has the tag `config`. The package
// stands alone.
package layers
