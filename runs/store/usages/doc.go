// Package usages has the SQL of what attempts used of the machine.
package usages
