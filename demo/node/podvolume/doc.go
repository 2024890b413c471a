// Package podvolume puts a pod's volumes into directories of this machine (Maker) and makes them visible to processes
// at their mount paths as far as the machine allows (Mounter). It stands beside podenv below the local node.
package podvolume
