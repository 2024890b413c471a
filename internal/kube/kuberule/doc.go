// Package kuberule knows what Kubernetes admits: names of variables, keys and values of labels, and how large objects may be.
// Services that build without Kubernetes refuse with it what no pod could have, when it is submitted and not when it runs. A
// test compares it with the rules of Kubernetes itself (pods/podspec). It imports generated messages only.
package kuberule
