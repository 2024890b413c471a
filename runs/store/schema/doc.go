// Package schema has the rows of the runs service's tables and the values of their columns. It reads and writes nothing.
package schema
