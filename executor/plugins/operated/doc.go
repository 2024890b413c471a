// Package operated runs attempts as objects of an operator, such as JobSets: one object for each attempt, whose pods the
// operator creates. It is what the plugins of all operators share: the object is created once, found again and removed,
// its pods are read as members of the attempt, and both together give the state. A plugin adds how its object is built
// and what its status means.
package operated
