// Package pod runs each attempt as one Kubernetes pod. It is the default plugin.
package pod
