// Package namespaces decides in which namespace the pods of a project and domain run, for tasks and apps alike: it renders
// the configured template, creates namespaces, and keeps pods out of those that are for something else. It knows neither
// TaskActions nor Deployments.
package namespaces
