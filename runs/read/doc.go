// Package read serves the read calls of RunService: lists, details, inputs and outputs, and log locations of existing
// runs and actions. It changes nothing.
package read
