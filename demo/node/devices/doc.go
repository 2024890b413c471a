// Package devices knows the GPUs of this machine: which there are, by what names tasks ask for them, which pod has which, and how
// busy they are. It asks the makers' tools and loads none of their libraries.
package devices
