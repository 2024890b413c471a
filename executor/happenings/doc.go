// Package happenings follows the Events of a cluster, and keeps of each attempt what they say about its pods and objects: bounded, and
// each thing once, however often it happens.
package happenings
