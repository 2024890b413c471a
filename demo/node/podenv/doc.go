// Package podenv computes the environment and the command line of a container's process: its environment from values, fields, ConfigMaps
// and Secrets, and its command line, with $(NAME) expanded in all of them. It is pure but for the reads of ConfigMaps
// and Secrets through Source, and knows neither files nor processes.
package podenv
