//go:build !linux

package worker

import "os"

// Conceal returns the value of a variable and removes it from this process's variables. What other processes of the same user can
// read depends on the system.
func Conceal(name string) (string, error) {
	value := os.Getenv(name)
	return value, os.Unsetenv(name)
}
