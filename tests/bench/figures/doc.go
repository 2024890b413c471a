// Package figures collects what the benchmark measures: figures and their budgets, the use of processes, and the machine that
// they were taken on.
package figures
