// Package podvolume creates a pod's volumes in local directories (Maker) and makes them visible to processes at their
// mount paths, as far as the machine allows (Mounter).
package podvolume
