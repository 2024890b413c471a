// Package dask runs tasks of the type dask as DaskJobs of the Dask operator: the task runs in the pod of the job runner,
// with a scheduler and workers of its own.
package dask
