// Package podenv computes the environment of a container's process, from values, fields, ConfigMaps and Secrets, and
// its command line, with $(NAME) expanded in both. It is pure but for the reads of ConfigMaps and Secrets through
// Source, and knows neither files nor processes.
package podenv
