// Package pki makes the certificates with which the API server and the local node know each other.
package pki
