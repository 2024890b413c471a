// Package members finds the pods that another controller, such as an operator, creates for an attempt, reads the state of
// each, and chooses the one that explains why the attempt failed. The pods are found by the labels that
// podspec.Builder.BuildMember sets, however many objects stand between them and the TaskAction. Plugins decide what the
// states of their members mean for the attempt.
package members
