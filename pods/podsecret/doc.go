// Package podsecret keeps the values that a pod was given out of what is recorded about it: it knows which Kubernetes
// Secrets a pod refers to, reads them, and replaces their values in messages. Executor, deployer and the demo's node use
// it wherever they record what a container runtime or a kubelet said. It builds on internal/text/redact and creates nothing.
package podsecret
