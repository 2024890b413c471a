// Package jobset runs tasks of the type clustered-task as JobSets: training on several pods that find each other by name.
// The pods are alike but for their index; the pod with index 0 writes the outputs. The contract with the task's launcher
// is its environment, see env.
package jobset
