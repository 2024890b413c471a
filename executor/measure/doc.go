// Package measure follows what the pods of attempts use of their nodes, and reports it to the runs service: processors, memory, disk
// and GPUs. It reads the summaries of kubelets, of nodes on which attempts run, or the metrics API where it may not.
package measure
