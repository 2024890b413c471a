// Package deployer runs apps on one cluster: it makes the cluster match what the apps service wants, level-triggered, and
// reports what it sees. A revision of an app is a Deployment, an app a Service and, where that is configured, an Ingress or
// an HTTPRoute. Which revisions run, and how many replicas, is decided by the apps service alone. Pods are built by
// pods/podspec and judged by pods/podstatus, as those of tasks are.
package deployer
