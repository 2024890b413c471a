// Package deletions finds expired runs and deletes their rows, and the specs that only they referred to.
package deletions
