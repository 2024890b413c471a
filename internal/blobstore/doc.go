// Package blobstore keeps the data of runs in a directory, S3, GCS or Azure, by URI. It is the only package that
// knows which of them it is; services hand URIs in and out. It also signs URLs by which clients put and get single
// objects, and for a directory, where nobody else would, serves them.
package blobstore
