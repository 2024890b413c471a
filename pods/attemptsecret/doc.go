// Package attemptsecret hands the secrets of a task to its pods: it reads their values from SecretValueService and writes
// them into one Kubernetes Secret for each attempt, in the namespace of the pod, before the pod is created. Pods refer to
// it, so that no pod spec has a value. Its name carries the attempt: an attempt keeps the values that it began with, and
// the next one gets those of its time. The TaskAction owns it. The package knows attempts and the API server, but no
// kind of main object.
package attemptsecret
