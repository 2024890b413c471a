// Package spark runs tasks of the type spark as SparkApplications of the Spark operator: the task runs in the driver, which
// asks the cluster for its executors.
package spark
