// Package catalog stores what users register: tasks, projects, settings, states of actions and images that runs have built.
package catalog
