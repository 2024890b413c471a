// Package blobstore keeps the data of runs in a directory, S3, GCS or Azure, by URI. It is the only package that
// depends on the kind of store; services pass URIs. It also signs URLs with which clients put and get single objects, and
// serves those of directories.
package blobstore
